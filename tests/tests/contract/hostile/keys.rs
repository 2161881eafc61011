//! Keys of every byte.

use idem_tests::{Request, Stage, in_both_styles};

use crate::asking::marking;

in_both_styles! { keys_of_every_byte }

/// The rule as the README has it, written anew.
fn is_key(value: &[u8]) -> bool {
    match value {
        [b'"', inner @ .., b'"'] => {
            let plain = |byte: &u8| (0x20..=0x7e).contains(byte) && *byte != b'"' && *byte != b'\\';
            inner.iter().all(plain) && inner.iter().any(|byte| *byte != b' ')
        }
        _ => {
            let visible = |byte: &u8| (0x21..=0x7e).contains(byte) && !b"\"\\,;".contains(byte);
            !value.is_empty() && value.iter().all(visible)
        }
    }
}

async fn keys_of_every_byte(stage: &Stage) {
    let app = stage.start().await;
    let mut accepted = 0;
    for byte in 0..=u8::MAX {
        let shapes = [
            vec![byte],
            vec![b'a', byte, b'b'],
            vec![b'"', byte, b'"'],
            vec![b'"', b'a', byte, b'b', b'"'],
        ];
        for (shape, value) in shapes.iter().enumerate() {
            // Each shape for an account of its own, because `k` and `"k"` are one key.
            let request = Request::post("/account/script")
                .bearer(&format!("shape{shape}:one"))
                .key(value)
                .json(&marking("bytes"));
            let answer = app.send(&request).await;
            let what = value.escape_ascii();
            if is_key(value) {
                assert_eq!((answer.status, answer.is_replay()), (201, false), "{what}");
                accepted += 1;
                continue;
            }
            assert_eq!(answer.status, 400, "{what}: {}", answer.text());
            // Control bytes but TAB the server itself refuses.
            if byte == b'\t' || !byte.is_ascii_control() {
                answer.assert_problem(400, "idempotency-key-invalid", false);
            }
        }
    }
    assert_eq!(stage.database.effects("bytes").await, accepted);
    assert_eq!(stage.database.records().await, accepted);
    // 94 visible bytes less four, alone and between two others; in quotes less two, and a space between two others.
    assert_eq!(accepted, 2 * 90 + 92 + 93);
}
