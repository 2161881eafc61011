//! What is measured: a name, a kind, a number; and by which bound each kind is judged.

use super::flat::Bound;

pub(crate) const MIB: f64 = 1024.0 * 1024.0;

/// One number at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) value: f64,
}

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bytes that a process has to itself.
    Memory,
    /// Things of which there are a few: threads, handles, connections.
    Few,
    /// Things of which there are as many as are done in some seconds.
    Many,
    /// Bytes on a disk, which come and go with the database's own housekeeping.
    Disk,
    /// What is left to that housekeeping.
    Garbage,
    /// How much is done in a second: it must not become less.
    Pace,
    /// Of a hundred answers, those that say that nothing can be done now.
    Refused,
    /// What must not be seen at all.
    Never,
    /// For people.
    Shown,
}

impl Figure {
    pub(crate) fn new(name: impl Into<String>, kind: Kind, value: f64) -> Self {
        Self {
            name: name.into(),
            kind,
            value,
        }
    }
}

impl Kind {
    pub(crate) fn bound(self) -> Bound {
        match self {
            // What an allocator keeps in its arenas moves by a megabyte or so.
            Self::Memory => Bound::rise(0.05, MIB).and_per_day(256.0 * MIB),
            Self::Few => Bound::rise(0.10, 8.0),
            Self::Many => Bound::rise(0.5, 100.0),
            Self::Disk => Bound::rise(0.25, 2.0 * MIB),
            Self::Garbage => Bound::rise(1.0, 2_000.0),
            Self::Pace => Bound::Share(0.33),
            // On SQLite there is one writer, and who waits for too long is refused.
            Self::Refused => Bound::Most(10.0),
            Self::Never => Bound::Zero,
            Self::Shown => Bound::None,
        }
    }

    pub(crate) fn is_bytes(self) -> bool {
        matches!(self, Self::Memory | Self::Disk)
    }
}
