//! What is packed is unpacked as it was, in its own place and in no other.

use actix_web::web::Bytes;

use super::{
    Context, DuplicateKeyId, EncryptionKeys, Packing, Seal, SealError, Sealed, Unreadable,
};
use crate::lease::{Finished, lines};
use crate::problem::ProblemCode;
use crate::response::StoredResponse;

const OURS: Context<'_> = Context {
    scope: "account:acme",
    key: "k",
    fingerprint: b"\x01fingerprint",
};

const SECRET: &str = "4111 1111 1111 1111";

fn packing(keys: EncryptionKeys) -> Packing {
    Packing::new(Some(std::sync::Arc::new(keys)), None, None)
}

fn first() -> EncryptionKeys {
    EncryptionKeys::new(1, [1; 32])
}

fn response(body: Option<&[u8]>) -> StoredResponse {
    StoredResponse {
        status: 201,
        headers: format!("location: /cards/{SECRET}\nx-raw: \u{e9}\n"),
        body: body.map(Bytes::copy_from_slice),
    }
}

fn of_all_bytes() -> Vec<u8> {
    (0..=255).collect()
}

#[test]
fn a_sealed_response_opens_as_it_was_and_shows_nothing_but_its_status() {
    for body in [None, Some(&b""[..]), Some(b"{}"), Some(&of_all_bytes())] {
        let packing = packing(first());
        let packed = packing.pack(OURS, response(body)).unwrap();
        assert_eq!(packed.headers, "@sealed 1 1\n");
        assert_eq!(packed.status, 201);
        let bytes = packed.body.as_deref().unwrap();
        assert!(!String::from_utf8_lossy(bytes).contains("4111"));
        let unpacked = packing.unpack(OURS, &packed).unwrap();
        assert_eq!(*unpacked, response(body));
        // Nobody sees that two are the same.
        assert_ne!(packing.pack(OURS, response(body)).unwrap(), packed);
    }
}

#[test]
fn what_was_changed_anywhere_does_not_open() {
    let packing = packing(first());
    let packed = packing.pack(OURS, response(Some(b"{}"))).unwrap();
    let body = packed.body.clone().unwrap();
    for at in 0..body.len() {
        let mut changed = body.to_vec();
        changed[at] ^= 1;
        let changed = StoredResponse {
            body: Some(changed.into()),
            ..packed.clone()
        };
        let error = packing.unpack(OURS, &changed).unwrap_err();
        assert_eq!(error.reason(), "seal", "byte {at}");
        assert_eq!(error.problem().code(), ProblemCode::RecordUnreadable);
    }
    for length in [0, 10, 24, 40, body.len() - 1] {
        let cut = StoredResponse {
            body: Some(body.slice(..length)),
            ..packed.clone()
        };
        assert_eq!(packing.unpack(OURS, &cut).unwrap_err().reason(), "seal");
    }
    let of_another_status = StoredResponse {
        status: 200,
        ..packed.clone()
    };
    let without_a_body = StoredResponse {
        body: None,
        ..packed.clone()
    };
    let with_more_headers = StoredResponse {
        headers: packed.headers.clone() + "a: b\n",
        ..packed.clone()
    };
    for (changed, reason) in [
        (of_another_status, "seal"),
        (without_a_body, "damaged"),
        (with_more_headers, "damaged"),
    ] {
        let error = packing.unpack(OURS, &changed).unwrap_err();
        assert_eq!(error.reason(), reason, "{error}");
        assert_eq!(error.problem().code(), ProblemCode::RecordUnreadable);
    }
}

#[test]
fn what_was_moved_to_another_operation_does_not_open() {
    let packing = packing(first());
    let packed = packing.pack(OURS, response(Some(b"{}"))).unwrap();
    let kept = packing.pack_request(OURS, Bytes::from_static(b"POST / \n\n"));
    let kept = kept.unwrap().to_vec();
    for theirs in [
        Context {
            scope: "account:evil",
            ..OURS
        },
        Context { key: "k2", ..OURS },
        Context {
            fingerprint: b"\x01another",
            ..OURS
        },
    ] {
        let moved = packing.unpack(theirs, &packed).unwrap_err();
        assert_eq!(moved.reason(), "seal");
        let moved = packing.unpack_request(theirs, kept.clone()).unwrap_err();
        assert_eq!(moved.reason(), "seal");
    }
    // Nor at another place of its own.
    let line = b"@sealed 1 1\n".len();
    let as_response = StoredResponse {
        body: Some(Bytes::copy_from_slice(&kept[line..])),
        ..packed
    };
    assert_eq!(
        packing.unpack(OURS, &as_response).unwrap_err().reason(),
        "seal"
    );
}

#[test]
fn an_old_key_opens_what_it_sealed_and_one_that_is_gone_is_a_matter_of_the_process() {
    let old = packing(first());
    let packed = old.pack(OURS, response(Some(b"{}"))).unwrap();
    let rotated = packing(EncryptionKeys::new(2, [2; 32]).retired(1, [1; 32]).unwrap());
    assert_eq!(
        *rotated.unpack(OURS, &packed).unwrap(),
        response(Some(b"{}"))
    );
    let newer = rotated.pack(OURS, response(None)).unwrap();
    assert_eq!(newer.headers, "@sealed 1 2\n");
    // Who only opens seals nothing.
    let opener = Packing::new(None, Some(std::sync::Arc::new(first())), None);
    assert_eq!(
        *opener.unpack(OURS, &packed).unwrap(),
        response(Some(b"{}"))
    );
    assert_eq!(opener.pack(OURS, response(None)).unwrap(), response(None));
    assert_eq!(first().retired(1, [3; 32]).unwrap_err(), DuplicateKeyId(1));
    for (elsewhere, packed) in [(&old, &newer), (&Packing::of_nobody(), &packed)] {
        let error = elsewhere.unpack(OURS, packed).unwrap_err();
        assert_eq!(error.reason(), "key", "{error}");
        assert_eq!(error.problem().code(), ProblemCode::StoreUnavailable);
    }
    // Another key under the same name.
    let wrong = packing(EncryptionKeys::new(1, [9; 32]));
    assert_eq!(wrong.unpack(OURS, &packed).unwrap_err().reason(), "seal");
}

#[test]
fn what_was_stored_before_is_read_as_it_is() {
    let plain = response(Some(b"{}"));
    let packing = packing(first());
    assert_eq!(*packing.unpack(OURS, &plain).unwrap(), plain);
    let kept = b"POST /orders\n\nbody".to_vec();
    assert_eq!(packing.unpack_request(OURS, kept.clone()).unwrap(), kept);
}

#[test]
fn a_version_that_is_not_known_is_left_to_who_knows_it() {
    for headers in ["@sealed 2 1\n", "@brotli 7\n", "@"] {
        let newer = StoredResponse {
            headers: headers.to_owned(),
            ..response(Some(b"?"))
        };
        let error = packing(first()).unpack(OURS, &newer).unwrap_err();
        assert!(matches!(error, Unreadable::Unknown), "{error}");
        assert_eq!(error.problem().code(), ProblemCode::StoreUnavailable);
    }
}

#[test]
fn a_seal_that_fails_is_no_reason_to_store_it_plain() {
    struct Broken;
    impl Seal for Broken {
        fn seal(&self, _: &[u8], _: &[u8]) -> Result<Sealed, SealError> {
            Err(SealError::Failed("no entropy".into()))
        }
        fn open(&self, _: u32, _: &[u8], _: &[u8]) -> Result<Vec<u8>, SealError> {
            Err(SealError::Failed("away".into()))
        }
    }
    let broken = Packing::new(Some(std::sync::Arc::new(Broken)), None, None);
    assert!(broken.pack(OURS, response(None)).is_err());
    assert!(broken.pack_request(OURS, Bytes::new()).is_err());
    let packed = packing(first()).pack(OURS, response(None)).unwrap();
    let error = broken.unpack(OURS, &packed).unwrap_err();
    assert_eq!(error.reason(), "failed");
    assert_eq!(error.problem().code(), ProblemCode::StoreUnavailable);
}

#[test]
fn the_result_of_a_step_is_sealed_and_its_name_is_not() {
    let packing = packing(first());
    let finished =
        |step: &str| Finished::new(step, &serde_json::json!({ "card": SECRET })).unwrap();
    let text = packing
        .pack_step(OURS, finished("charge"))
        .unwrap()
        .text()
        .unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(text.contains("charge") && !text.contains("4111"), "{text}");
    let line = || lines(&text).next().unwrap().unwrap();
    let opened = packing.unpack_step(OURS, line()).unwrap();
    assert_eq!(
        (&*opened.step, opened.result.get()),
        ("charge", finished("").result.get())
    );
    let error = Packing::of_nobody().unpack_step(OURS, line()).unwrap_err();
    assert_eq!(error.reason(), "key");
    let newer = text.replace("\"version\":1", "\"version\":2");
    let newer = lines(&newer).next().unwrap().unwrap();
    let error = packing.unpack_step(OURS, newer).unwrap_err();
    assert_eq!(error.reason(), "version");
    // Under another name, as the result of another step.
    let renamed = text.replace("charge", "refund");
    let renamed = lines(&renamed).next().unwrap().unwrap();
    assert_eq!(
        packing.unpack_step(OURS, renamed).unwrap_err().reason(),
        "seal"
    );
    let plain = Packing::of_nobody()
        .pack_step(OURS, finished("mail"))
        .unwrap();
    assert_eq!(packing.unpack_step(OURS, plain).unwrap().step, "mail");
}

#[cfg(feature = "zstd")]
mod compressed {
    use super::*;

    fn compressing(over: usize) -> Packing {
        Packing::new(None, None, Some(over))
    }

    #[test]
    fn a_body_over_the_threshold_is_stored_in_fewer_bytes_and_read_as_it_was() {
        let body = "{\"a\": 1}".repeat(1000);
        let plain = response(Some(body.as_bytes()));
        let packing = compressing(7999);
        let packed = packing.pack(OURS, plain.clone()).unwrap();
        assert!(packed.body.as_ref().unwrap().len() < 200);
        assert_eq!(packed.headers, format!("@zstd 8000\n{}", plain.headers));
        // Who compresses nothing reads it as well.
        for reader in [packing, compressing(usize::MAX), Packing::of_nobody()] {
            assert_eq!(*reader.unpack(OURS, &packed).unwrap(), plain);
        }
        let untouched = compressing(8000).pack(OURS, plain.clone()).unwrap();
        assert_eq!(untouched, plain);
    }

    #[test]
    fn what_would_not_get_shorter_is_stored_as_it_is() {
        for body in [None, Some(&b""[..]), Some(b"x"), Some(&of_all_bytes())] {
            let plain = response(body);
            assert_eq!(compressing(0).pack(OURS, plain.clone()).unwrap(), plain);
        }
    }

    #[test]
    fn it_is_compressed_before_it_is_sealed() {
        let body = "x".repeat(100_000);
        let seal = std::sync::Arc::new(first());
        let packing = Packing::new(Some(seal), None, Some(0));
        let packed = packing.pack(OURS, response(Some(body.as_bytes()))).unwrap();
        assert_eq!(packed.headers, "@sealed 1 1\n");
        assert!(packed.body.as_ref().unwrap().len() < 500);
        assert_eq!(
            *packing.unpack(OURS, &packed).unwrap(),
            response(Some(body.as_bytes()))
        );
    }

    #[test]
    fn nothing_is_inflated_beyond_what_it_says_it_was() {
        let body = vec![b'x'; 100_000];
        let packing = compressing(0);
        let packed = packing.pack(OURS, response(Some(&body))).unwrap();
        let says = |length: usize| StoredResponse {
            headers: packed
                .headers
                .replace("@zstd 100000\n", &format!("@zstd {length}\n")),
            ..packed.clone()
        };
        assert!(packing.unpack(OURS, &says(100_000)).is_ok());
        for length in [0, 1, 99_999, 100_001, 16 << 20] {
            let error = packing.unpack(OURS, &says(length)).unwrap_err();
            assert_eq!(error.reason(), "damaged", "{length}: {error}");
        }
        // As large as no endpoint of this program has one.
        let error = packing.unpack(OURS, &says((16 << 20) + 1)).unwrap_err();
        assert!(matches!(error, Unreadable::TooLarge(_)), "{error}");
        assert_eq!(error.problem().code(), ProblemCode::StoreUnavailable);
    }

    /// As a reconciler's may be, for which there is no limit.
    #[test]
    fn what_could_not_be_inflated_is_not_compressed() {
        let body = vec![b'x'; (16 << 20) + 1];
        let plain = response(Some(&body));
        assert_eq!(compressing(0).pack(OURS, plain.clone()).unwrap(), plain);
    }

    #[test]
    fn damaged_bytes_are_no_body() {
        let packing = compressing(0);
        let packed = packing.pack(OURS, response(Some(&[b'x'; 1000]))).unwrap();
        let with = |body: Option<&'static [u8]>| StoredResponse {
            body: body.map(Bytes::from_static),
            ..packed.clone()
        };
        for damaged in [with(None), with(Some(b"")), with(Some(b"not zstd at all"))] {
            assert_eq!(
                packing.unpack(OURS, &damaged).unwrap_err().reason(),
                "damaged"
            );
        }
    }
}
