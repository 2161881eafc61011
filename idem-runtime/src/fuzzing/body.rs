//! The canonical form of a body, against the slow implementation and against `serde_json`.

use serde::de::IgnoredAny;

use crate::canonical::{canonical_json, oracle};

/// A body: it has a form exactly if the slow implementation reads it, and the form says the same.
pub fn canonical(data: &[u8]) {
    let form = canonical_json(data);
    let tree = oracle::parse(data);
    assert_eq!(form.as_deref().map(oracle::parse), tree.map(Some));
    if let Some(form) = form {
        assert!(form.len() <= data.len());
        assert!(serde_json::from_slice::<IgnoredAny>(data).is_ok());
        assert_eq!(canonical_json(&form), Some(form));
    }
}

/// Two bodies, apart at the first zero byte: they have one form exactly if the slow implementation says that they are
/// the same.
pub fn canonical_pair(data: &[u8]) {
    let Some(middle) = data.iter().position(|byte| *byte == 0) else {
        return;
    };
    let (one, other) = (&data[..middle], &data[middle + 1..]);
    let forms = (canonical_json(one), canonical_json(other));
    let trees = (oracle::parse(one), oracle::parse(other));
    if let (Some(one), Some(other)) = &trees {
        assert_eq!(one == other, forms.0 == forms.1);
    }
    assert_eq!(trees.0.is_some(), forms.0.is_some());
    assert_eq!(trees.1.is_some(), forms.1.is_some());
}
