//! What a layer computes for its rows, on the device.

use super::buffer::Room;
use super::device::Device;
use super::error::DeviceError;
use super::model::Sizes;
use crate::kernels::Address;

macro_rules! layer {
    ($($(#[$doc:meta])* $field:ident = $what:literal: |$sizes:ident| $per_row:expr;)*) => {
        /// Memory of one layer's activations; it only grows.
        pub(super) struct LayerRoom {
            $($field: Room<f32>,)*
        }

        /// Where a layer's activations are.
        #[derive(Clone, Copy)]
        pub(super) struct LayerAt {
            $($(#[$doc])* pub(super) $field: Address,)*
        }

        impl LayerRoom {
            /// Nothing yet.
            pub(super) fn new() -> Self {
                Self { $($field: Room::new($what),)* }
            }

            /// Room for this many rows.
            pub(super) fn at(
                &mut self,
                device: &Device,
                sizes: &Sizes,
                rows: u32,
            ) -> Result<LayerAt, DeviceError> {
                Ok(LayerAt { $($field: {
                    let $sizes = sizes;
                    self.$field.address(device, rows as usize * $per_row as usize)?
                },)* })
            }
        }
    };
}

layer! {
    /// `[rows, width]` each: the two norms' inputs over their root mean squares, and the norms' results.
    hat1 = "activations": |sizes| sizes.width;
    h1 = "activations": |sizes| sizes.width;
    hat2 = "activations": |sizes| sizes.width;
    h2 = "activations": |sizes| sizes.width;
    /// `[rows]` each.
    inverse1 = "activations": |_sizes| 1;
    inverse2 = "activations": |_sizes| 1;
    /// `[rows, query + key + value]`; the backward pass leaves gradients here.
    qkv = "activations": |sizes| sizes.qkv;
    /// `[rows, query + key]` each: heads over their root mean squares; rotated heads.
    hat_heads = "activations": |sizes| sizes.heads;
    heads = "activations": |sizes| sizes.heads;
    /// `[rows, query + key heads]`.
    inverse_heads = "activations": |sizes| (sizes.queries + sizes.keys);
    /// `[rows, query]`.
    context = "activations": |sizes| sizes.query;
    /// `[rows, query heads, 2]`.
    stats = "activations": |sizes| (2 * sizes.queries);
    /// `[rows, 2 hidden]`; the backward pass leaves gradients here.
    gate_up = "activations": |sizes| (2 * sizes.hidden);
    /// `[rows, hidden]`.
    act = "activations": |sizes| sizes.hidden;
}
