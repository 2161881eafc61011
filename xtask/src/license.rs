//! SPDX expressions, as far as crates use them: names, `OR`, `AND`, `WITH`, brackets, and the old `/` for `OR`.

/// Whether one may use what has this licence with these licences alone. What cannot be read is not permitted.
pub(crate) fn permits(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let mut reader = Reader {
        words: &words,
        allowed,
    };
    reader.either() == Some(true) && reader.words.is_empty()
}

struct Reader<'a> {
    words: &'a [&'a str],
    allowed: &'a [&'a str],
}

impl Reader<'_> {
    fn next(&mut self) -> Option<&str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn takes(&mut self, word: &str) -> bool {
        let comes = self.words.first() == Some(&word);
        if comes {
            self.words = &self.words[1..];
        }
        comes
    }

    fn either(&mut self) -> Option<bool> {
        let mut permitted = self.both()?;
        while self.takes("OR") {
            permitted |= self.both()?;
        }
        Some(permitted)
    }

    fn both(&mut self) -> Option<bool> {
        let mut permitted = self.one()?;
        while self.takes("AND") {
            permitted &= self.one()?;
        }
        Some(permitted)
    }

    fn one(&mut self) -> Option<bool> {
        if self.takes("(") {
            let permitted = self.either()?;
            return self.takes(")").then_some(permitted);
        }
        let allowed = self.allowed;
        let permitted = allowed.contains(&self.next()?);
        if self.takes("WITH") {
            // An exception only permits more.
            self.next()?;
        }
        Some(permitted)
    }
}

#[cfg(test)]
mod tests {
    use super::permits;

    #[test]
    fn expressions() {
        let ours = |expression: &str| permits(expression, &["MIT", "Zlib"]);
        for fine in [
            "MIT",
            "MIT OR Apache-2.0",
            "Apache-2.0/MIT",
            "(Apache-2.0 OR MIT) AND Zlib",
            "Apache-2.0 WITH LLVM-exception OR MIT",
            "GPL-3.0 AND Apache-2.0 OR MIT",
        ] {
            assert!(ours(fine), "{fine}");
        }
        for foreign in [
            "",
            "Apache-2.0",
            "MIT AND Apache-2.0",
            "MIT AND",
            "(MIT",
            "MIT MIT",
            "MIT)",
            "Apache-2.0 AND (GPL-3.0 OR MIT)",
        ] {
            assert!(!ours(foreign), "{foreign}");
        }
    }
}
