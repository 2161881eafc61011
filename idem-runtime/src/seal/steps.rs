//! The results of steps: in the log of an operation each is sealed by itself, so that its name can be read by who has no
//! key.
//!
//! No SQL.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::value::RawValue;

use super::context::{Context, Part};
use super::{SealError, Sealed, Unreadable};
use crate::lease::{Finished, SealedResult, StepLine};
use crate::seal::Packing;

/// Of what is inside of a sealed result: JSON.
const VERSION: u32 = 1;

impl Packing {
    /// The line of a finished step as it is stored.
    pub(crate) fn pack_step(
        &self,
        context: Context<'_>,
        finished: Finished,
    ) -> Result<StepLine, SealError> {
        let Some(seal) = &self.seal else {
            return Ok(StepLine::of(finished));
        };
        let part = Part::Step(&finished.step);
        let plain = finished.result.get().as_bytes();
        let Sealed { key_id, bytes } = seal.seal(plain, &context.bytes(part))?;
        let sealed = SealedResult {
            version: VERSION,
            key: key_id,
            bytes: STANDARD_NO_PAD.encode(bytes),
        };
        Ok(StepLine::sealed(finished.step, sealed))
    }

    /// A finished step as its run left it.
    pub(crate) fn unpack_step(
        &self,
        context: Context<'_>,
        line: StepLine,
    ) -> Result<Finished, Unreadable> {
        let (step, sealed) = match line.plain() {
            Ok(finished) => return Ok(finished),
            Err((_, sealed)) if sealed.version != VERSION => return Err(Unreadable::Unknown),
            Err(sealed) => sealed,
        };
        let bytes = STANDARD_NO_PAD
            .decode(sealed.bytes)
            .map_err(|_| Unreadable::Inside)?;
        let plain = self.open(context, Part::Step(&step), sealed.key, &bytes)?;
        let plain = String::from_utf8(plain).map_err(|_| Unreadable::Inside)?;
        let result = RawValue::from_string(plain).map_err(|_| Unreadable::Inside)?;
        Ok(Finished { step, result })
    }
}
