//! Identifiers. Each kind of number is a type of its own, so that a step never stands where a sequence belongs.

use std::fmt;

use rkyv::{Archive, Deserialize, Serialize};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Archive, Serialize, Deserialize, serde::Serialize, serde::Deserialize, Clone, Copy, Debug, Default,
            PartialEq, Eq, PartialOrd, Ord, Hash,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// The number that follows; the last one follows itself.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(out)
            }
        }
    };
}

number!(
    /// The kernel-given name of a task, trajectory, policy or candidate; never reused, never a bevy `Entity`.
    /// `StableId(0)` is the run itself.
    StableId(u64)
);
number!(
    /// Position of an event in the log, from 0.
    Sequence(u64)
);
number!(
    /// Position of a commit group in the log, from 0.
    Step(u64)
);
number!(
    /// A turn of generator and solver: `0` is the base, before anything is learnt; training iterations start at 1.
    Iteration(u32)
);
number!(
    /// Policy version within an iteration: `0` is the published policy, update `u` makes version `u + 1`.
    Version(u32)
);
number!(
    /// Which look (calibration) or which update (rollout) samples a task; part of the randomness of a trajectory.
    Visit(u32)
);
number!(
    /// Place of a trajectory within its group, from 0.
    Member(u32)
);

/// A blake3 digest.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The 64 hexadecimal digits.
    #[must_use]
    pub fn to_hex(self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// Reads 64 hexadecimal digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|hash| Self(*hash.as_bytes()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Digest({})", &self.to_hex()[..16])
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&self.to_hex())
        } else {
            serde::Serialize::serialize(&self.0, serializer)
        }
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = <String as serde::Deserialize>::deserialize(deserializer)?;
            Self::from_hex(&text).ok_or_else(|| serde::de::Error::custom("not 64 hexadecimal digits"))
        } else {
            serde::Deserialize::deserialize(deserializer).map(Self)
        }
    }
}
