//! Weights as safetensors files: the names of Qwen3 checkpoints, matrices `[out, in]` as they have them.
//!
//! The file's metadata holds one key, `tadpole`, with the shape; a file without it (a downloaded checkpoint) is read
//! with a shape given from outside.

use super::{Role, TensorSpec, Weights, WeightsError};
use crate::shape::ModelShape;
use half::bf16;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The metadata key that holds the shape.
const SHAPE_KEY: &str = "tadpole";

/// How values are stored in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit floats, exactly.
    F32,
    /// The upper half of a 32-bit float, rounded to nearest, ties to even.
    Bf16,
}

/// Dimensions of a tensor in a file.
fn file_dimensions(spec: &TensorSpec) -> Vec<usize> {
    match spec.role {
        Role::Embedding => vec![spec.rows, spec.cols],
        Role::Matrix => vec![spec.cols, spec.rows],
        Role::Norm => vec![spec.cols],
    }
}

/// `[rows, cols]` turned into `[cols, rows]`.
fn transposed(values: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    let mut turned = Vec::with_capacity(values.len());
    for col in 0..cols {
        for row in 0..rows {
            turned.push(values[row * cols + col]);
        }
    }
    turned
}

fn encode(values: &[f32], precision: Precision) -> Vec<u8> {
    match precision {
        Precision::F32 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Precision::Bf16 => values.iter().flat_map(|&value| bf16::from_f32(value).to_le_bytes()).collect(),
    }
}

fn decode(view: &TensorView<'_>) -> Result<Vec<f32>, WeightsError> {
    let bytes = view.data();
    match view.dtype() {
        Dtype::F32 => Ok(super::canonical::floats_from_bytes(bytes)),
        Dtype::BF16 => {
            Ok(bytes.as_chunks::<2>().0.iter().map(|&pair| bf16::from_le_bytes(pair).to_f32()).collect())
        }
        other => Err(WeightsError::File(format!("tensors of type {other:?} are not supported"))),
    }
}

/// The shape as one line of text; numbers are written so that reading gives the same bits.
fn shape_text(shape: &ModelShape) -> String {
    let ModelShape {
        vocab,
        width,
        layers,
        heads,
        kv_heads,
        head_dim,
        hidden,
        context,
        ngram,
        rope_base,
        norm_eps,
    } = shape;
    format!(
        "vocab={vocab} width={width} layers={layers} heads={heads} kv_heads={kv_heads} head_dim={head_dim} \
         hidden={hidden} context={context} ngram={ngram} rope_base={rope_base} norm_eps={norm_eps}"
    )
}

fn parse_shape(text: &str) -> Result<ModelShape, WeightsError> {
    let pairs: BTreeMap<&str, &str> =
        text.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
    let bad = |name: &str| WeightsError::File(format!("the shape in its metadata has no usable {name}"));
    let whole =
        |name: &str| pairs.get(name).and_then(|value| value.parse::<u32>().ok()).ok_or_else(|| bad(name));
    let real =
        |name: &str| pairs.get(name).and_then(|value| value.parse::<f32>().ok()).ok_or_else(|| bad(name));
    Ok(ModelShape {
        vocab: whole("vocab")?,
        width: whole("width")?,
        layers: whole("layers")?,
        heads: whole("heads")?,
        kv_heads: whole("kv_heads")?,
        head_dim: whole("head_dim")?,
        hidden: whole("hidden")?,
        context: whole("context")?,
        ngram: whole("ngram")?,
        rope_base: real("rope_base")?,
        norm_eps: real("norm_eps")?,
    })
}

fn file_error(error: &safetensors::SafeTensorError) -> WeightsError {
    WeightsError::File(error.to_string())
}

impl Weights {
    /// The bytes of a safetensors file.
    pub fn to_safetensors(&self, precision: Precision) -> Result<Vec<u8>, WeightsError> {
        let dtype = match precision {
            Precision::F32 => Dtype::F32,
            Precision::Bf16 => Dtype::BF16,
        };
        let mut encoded = Vec::new();
        for tensor in self.tensors() {
            let spec = tensor.spec;
            let bytes = match spec.role {
                Role::Matrix => encode(&transposed(tensor.values, spec.rows, spec.cols), precision),
                Role::Embedding | Role::Norm => encode(tensor.values, precision),
            };
            encoded.push((spec.name.as_str(), file_dimensions(spec), bytes));
        }
        let mut views = Vec::new();
        for (name, dimensions, bytes) in &encoded {
            let view =
                TensorView::new(dtype, dimensions.clone(), bytes).map_err(|error| file_error(&error))?;
            views.push((*name, view));
        }
        let metadata = HashMap::from([(SHAPE_KEY.to_owned(), shape_text(&self.shape))]);
        safetensors::serialize(views, Some(metadata)).map_err(|error| file_error(&error))
    }

    /// Reads a safetensors file of f32 or bf16 tensors. Without `shape`, the file's metadata must hold it.
    pub fn from_safetensors(bytes: &[u8], shape: Option<&ModelShape>) -> Result<Self, WeightsError> {
        let file = SafeTensors::deserialize(bytes).map_err(|error| file_error(&error))?;
        let shape = if let Some(shape) = shape {
            *shape
        } else {
            let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| file_error(&error))?;
            let text = header.metadata().as_ref().and_then(|metadata| metadata.get(SHAPE_KEY));
            parse_shape(text.ok_or_else(|| WeightsError::File("no shape in its metadata".to_owned()))?)?
        };
        shape.validate()?;
        // No value takes less than two bytes: a forged shape must not make us allocate more than the file could fill.
        if shape.parameters() > bytes.len() as u64 / 2 {
            return Err(WeightsError::File("it is too short for its shape".to_owned()));
        }
        let mut weights = Self::zeros(&shape)?;
        let known: BTreeSet<String> = weights.specs.iter().map(|spec| spec.name.clone()).collect();
        let mut names: Vec<&str> = file.names();
        names.sort_unstable();
        if let Some(name) = names.into_iter().find(|&name| !known.contains(name)) {
            return Err(WeightsError::Unexpected(name.to_owned()));
        }
        for tensor in weights.tensors_mut() {
            let spec = tensor.spec;
            let view = file.tensor(&spec.name).map_err(|_absent| WeightsError::Missing(spec.name.clone()))?;
            let expected = file_dimensions(spec);
            if view.shape() != expected {
                let (name, found) = (spec.name.clone(), view.shape().to_vec());
                return Err(WeightsError::Dimensions { name, found, expected });
            }
            let values = decode(&view)?;
            match spec.role {
                Role::Matrix => tensor.values.copy_from_slice(&transposed(&values, spec.cols, spec.rows)),
                Role::Embedding | Role::Norm => tensor.values.copy_from_slice(&values),
            }
        }
        weights.check_finite()?;
        Ok(weights)
    }
}

#[cfg(test)]
mod tests {
    use super::super::init::tests::words;
    use super::super::{Initial, Precision, Weights, WeightsError};
    use crate::shape::ModelShape;
    use crate::shape::tests::TINY;

    fn fresh() -> Weights {
        Weights::init(&TINY, Initial::default(), &mut words(1)).unwrap()
    }

    #[test]
    fn weights_survive_f32_files_exactly_and_bf16_files_from_the_second_time_on() {
        let weights = fresh();
        let exact =
            Weights::from_safetensors(&weights.to_safetensors(Precision::F32).unwrap(), None).unwrap();
        assert_eq!(exact.digest(), weights.digest());
        let short = weights.to_safetensors(Precision::Bf16).unwrap();
        let rounded = Weights::from_safetensors(&short, Some(&TINY)).unwrap();
        assert_ne!(rounded.digest(), weights.digest());
        assert_eq!(rounded.to_safetensors(Precision::Bf16).unwrap(), short);
    }

    #[test]
    fn canonical_bytes_survive_a_round_trip_and_forged_ones_are_refused() {
        let weights = fresh();
        let bytes = weights.canonical_bytes();
        assert_eq!(Weights::from_canonical(&bytes).unwrap(), weights);
        assert!(Weights::from_canonical(&bytes[..bytes.len() - 1]).is_err());
        let mut forged = bytes.clone();
        forged[60..64].copy_from_slice(&f32::NAN.to_le_bytes());
        let refused = Weights::from_canonical(&forged);
        assert!(matches!(refused, Err(WeightsError::NotFinite { index: 1, .. })), "{refused:?}");
        for place in 0..56 {
            let mut forged = bytes.clone();
            forged[place] ^= 0x80;
            assert!(Weights::from_canonical(&forged).ok().as_ref() != Some(&weights), "byte {place}");
        }
    }

    #[test]
    fn a_file_of_another_shape_is_refused_with_the_tensor_named() {
        let bytes = fresh().to_safetensors(Precision::F32).unwrap();
        let fewer = Weights::from_safetensors(&bytes, Some(&ModelShape { ngram: 1, ..TINY }));
        assert_eq!(fewer, Err(WeightsError::Unexpected("model.embed_previous.2.weight".to_owned())));
        let wider = Weights::from_safetensors(&bytes, Some(&ModelShape { hidden: 64, ..TINY }));
        assert!(matches!(wider, Err(WeightsError::Dimensions { .. })), "{wider:?}");
        let more = Weights::from_safetensors(&bytes, Some(&ModelShape { layers: 3, ..TINY }));
        assert!(matches!(more, Err(WeightsError::Missing(_))), "{more:?}");
    }
}
