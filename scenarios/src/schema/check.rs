//! Ranges of values.

use std::fmt::Debug;
use std::ops::RangeInclusive;

/// What a value must satisfy.
pub(crate) trait Check<V> {
    /// Whether `value` is allowed.
    fn allows(&self, value: &V) -> bool;
    /// What is allowed, for people; empty where everything is.
    fn describe(&self) -> String;
}

/// Every value of the type.
pub(crate) struct Anything;

impl<V> Check<V> for Anything {
    fn allows(&self, _: &V) -> bool {
        true
    }

    fn describe(&self) -> String {
        String::new()
    }
}

impl<T: PartialOrd + Debug> Check<T> for RangeInclusive<T> {
    fn allows(&self, value: &T) -> bool {
        self.contains(value)
    }

    fn describe(&self) -> String {
        format!("{:?} to {:?}", self.start(), self.end())
    }
}

/// Above the first, at most the second.
pub(crate) struct Above<T>(pub(crate) T, pub(crate) T);

impl<T: PartialOrd + Debug> Check<T> for Above<T> {
    fn allows(&self, value: &T) -> bool {
        self.0 < *value && *value <= self.1
    }

    fn describe(&self) -> String {
        format!("above {:?}, at most {:?}", self.0, self.1)
    }
}

/// At least the first, below the second.
pub(crate) struct Below<T>(pub(crate) T, pub(crate) T);

impl<T: PartialOrd + Debug> Check<T> for Below<T> {
    fn allows(&self, value: &T) -> bool {
        self.0 <= *value && *value < self.1
    }

    fn describe(&self) -> String {
        format!("at least {:?}, below {:?}", self.0, self.1)
    }
}

/// A multiple of the first within the second.
pub(crate) struct Multiple(pub(crate) u32, pub(crate) RangeInclusive<u32>);

impl Check<u32> for Multiple {
    fn allows(&self, value: &u32) -> bool {
        value.is_multiple_of(self.0) && self.1.contains(value)
    }

    fn describe(&self) -> String {
        format!("a multiple of {} from {} to {}", self.0, self.1.start(), self.1.end())
    }
}

/// A name that may stand in file names and tables: letters, digits, `-` and `_`, 1 to 64 of them.
pub(crate) struct Name;

impl Check<String> for Name {
    fn allows(&self, value: &String) -> bool {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        (1..=64).contains(&value.len()) && value.chars().all(allowed)
    }

    fn describe(&self) -> String {
        "1 to 64 of the letters, digits, `-` and `_`".into()
    }
}

/// A list of so many entries.
pub(crate) struct Length(pub(crate) RangeInclusive<usize>);

impl<T> Check<Vec<T>> for Length {
    fn allows(&self, value: &Vec<T>) -> bool {
        self.0.contains(&value.len())
    }

    fn describe(&self) -> String {
        format!("{} to {} entries", self.0.start(), self.0.end())
    }
}

/// A list of so many entries, each of which passes a check.
pub(crate) struct Each<C>(pub(crate) RangeInclusive<usize>, pub(crate) C);

impl<T, C: Check<T>> Check<Vec<T>> for Each<C> {
    fn allows(&self, value: &Vec<T>) -> bool {
        self.0.contains(&value.len()) && value.iter().all(|item| self.1.allows(item))
    }

    fn describe(&self) -> String {
        let each = self.1.describe();
        let joint = if each.is_empty() { "" } else { ", each " };
        format!("{} to {} entries{joint}{each}", self.0.start(), self.0.end())
    }
}
