//! Hand-made histories.
