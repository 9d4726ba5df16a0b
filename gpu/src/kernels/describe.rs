//! What a launch consists of, and the macro that describes kernels.

/// An address in device memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address(pub u64);

impl Address {
    /// The address of the element this many elements of `size` bytes further on.
    #[must_use]
    pub fn offset(self, elements: usize, size: usize) -> Self {
        Self(self.0 + (elements * size) as u64)
    }

    /// The address of the `f32` this many further on.
    #[must_use]
    pub fn floats(self, elements: usize) -> Self {
        self.offset(elements, size_of::<f32>())
    }
}

/// A value passed to a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// A pointer to device memory.
    Address(Address),
    /// `unsigned`.
    U32(u32),
    /// `unsigned long long`.
    U64(u64),
    /// `float`.
    F32(f32),
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pointer to device memory, 8 bytes.
    Address,
    /// `unsigned`, 4 bytes.
    U32,
    /// `unsigned long long`, 8 bytes.
    U64,
    /// `float`, 4 bytes.
    F32,
}

impl Kind {
    /// Bytes of a value.
    pub const fn size(self) -> usize {
        match self {
            Self::Address | Self::U64 => 8,
            Self::U32 | Self::F32 => 4,
        }
    }
}

/// A type that kernels take.
pub(super) trait Passed {
    const KIND: Kind;
    fn argument(self) -> Argument;
}

impl Passed for Address {
    const KIND: Kind = Kind::Address;
    fn argument(self) -> Argument {
        Argument::Address(self)
    }
}

impl Passed for u32 {
    const KIND: Kind = Kind::U32;
    fn argument(self) -> Argument {
        Argument::U32(self)
    }
}

impl Passed for u64 {
    const KIND: Kind = Kind::U64;
    fn argument(self) -> Argument {
        Argument::U64(self)
    }
}

impl Passed for f32 {
    const KIND: Kind = Kind::F32;
    fn argument(self) -> Argument {
        Argument::F32(self)
    }
}

/// Name and type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// As in the source.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
}

/// Grid, block and dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x; a multiple of the warp's 32.
    pub block: u32,
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
}

impl LaunchShape {
    /// Blocks along x alone, no dynamic shared memory.
    pub(super) fn line(blocks: u32, block: u32) -> Self {
        Self { grid: [blocks, 1, 1], block, shared_bytes: 0 }
    }

    /// Blocks along x and y, no dynamic shared memory.
    pub(super) fn plane(x: u32, y: u32, block: u32) -> Self {
        Self { grid: [x, y, 1], block, shared_bytes: 0 }
    }

    /// Whether there is no block: nothing to launch.
    pub fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}

/// An entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The file under `kernels/`.
    pub file: &'static str,
    /// The name.
    pub name: &'static str,
    /// The parameters in order.
    pub parameters: &'static [Parameter],
}

impl Entry {
    /// The entry of a kernel.
    pub const fn of<L: Launch>() -> Self {
        Self { file: L::FILE, name: L::NAME, parameters: L::PARAMETERS }
    }
}

/// One call of a kernel.
pub trait Launch {
    /// The file under `kernels/`.
    const FILE: &'static str;
    /// The name of the entry point.
    const NAME: &'static str;
    /// Its parameters in order.
    const PARAMETERS: &'static [Parameter];

    /// Grid, block and dynamic shared memory for these sizes.
    fn shape(&self) -> LaunchShape;

    /// The values of the parameters in order.
    fn arguments(&self) -> Vec<Argument>;
}

/// Describes a kernel: a struct whose fields are the parameters, and how its launch shape follows from them.
macro_rules! kernel {
    (
        $(#[$doc:meta])*
        $visible:vis struct $name:ident = $file:literal :: $entry:literal {
            $($(#[$field_doc:meta])* $field:ident: $kind:ty,)*
        }
        shape($launch:ident) $shape:block
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $visible struct $name {
            $($(#[$field_doc])* $visible $field: $kind,)*
        }

        impl $crate::kernels::Launch for $name {
            const FILE: &'static str = $file;
            const NAME: &'static str = $entry;
            const PARAMETERS: &'static [$crate::kernels::Parameter] = &[$(
                $crate::kernels::Parameter {
                    name: stringify!($field),
                    kind: <$kind as $crate::kernels::describe::Passed>::KIND,
                },
            )*];

            fn shape(&self) -> $crate::kernels::LaunchShape {
                let $launch = self;
                $shape
            }

            fn arguments(&self) -> Vec<$crate::kernels::Argument> {
                vec![$($crate::kernels::describe::Passed::argument(self.$field),)*]
            }
        }
    };
}
