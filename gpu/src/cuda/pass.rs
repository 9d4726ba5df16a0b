//! One micro-batch: forward, objective, backward, gradients.

use super::backward::Backward;
use super::buffer::{Buffer, Room};
use super::cache::{CacheAt, layer_stride};
use super::descent::Descent;
use super::device::Device;
use super::error::DeviceError;
use super::faults::{NotesAt, Stage};
use super::forward::{Forward, Head, HeadRoom};
use super::layer::{LayerAt, LayerRoom};
use super::model::{DeviceModel, Sizes};
use super::plan::{Part, PartAt};
use super::scratch::ScratchRoom;
use crate::backend::Objective;
use crate::dppo::Divergence;
use crate::kernels::{Address, LogSoftmax, LogitGradient, ObjectiveCode, TakeRows, TokenGradient};

/// Memory of a micro-batch; it only grows.
pub(super) struct PassRoom {
    x: Room<f32>,
    cache: Room<f32>,
    layers: Vec<LayerRoom>,
    head: HeadRoom,
    scratch: ScratchRoom,
}

/// What a step says to all its micro-batches.
#[derive(Clone, Copy)]
pub(super) struct Aim<'a> {
    pub(super) objective: &'a Objective,
    pub(super) temperature: f32,
    /// Targets of the step.
    pub(super) targets: f32,
}

/// One number for each target of the batch.
pub(super) struct TargetRoom {
    log_probs: Room<f32>,
    entropies: Room<f32>,
    sums: Room<f32>,
    gradients: Room<f32>,
    keep: Room<u32>,
}

/// Where they are, from some target on.
#[derive(Clone, Copy)]
pub(super) struct TargetsAt {
    log_probs: Address,
    entropies: Address,
    sums: Address,
    gradients: Address,
    keep: Address,
}

/// What came back about the targets of a batch.
pub(super) struct Found {
    pub(super) log_probs: Vec<f32>,
    pub(super) entropies: Vec<f32>,
    /// 1 where a target is trained on.
    pub(super) keep: Vec<u32>,
}

impl TargetRoom {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self {
            log_probs: Room::new("log-probabilities"),
            entropies: Room::new("entropies"),
            sums: Room::new("sums of weights"),
            gradients: Room::new("gradients of log-probabilities"),
            keep: Room::new("kept targets"),
        }
    }

    /// Room for this many targets.
    pub(super) fn at(&mut self, device: &Device, targets: usize) -> Result<TargetsAt, DeviceError> {
        Ok(TargetsAt {
            log_probs: self.log_probs.address(device, targets)?,
            entropies: self.entropies.address(device, targets)?,
            sums: self.sums.address(device, targets)?,
            gradients: self.gradients.address(device, targets)?,
            keep: self.keep.address(device, targets)?,
        })
    }

    /// Copies back what a report says about each target.
    pub(super) fn read(&mut self, device: &Device, targets: usize) -> Result<Found, DeviceError> {
        let mut found =
            Found { log_probs: vec![0.0; targets], entropies: vec![0.0; targets], keep: vec![0; targets] };
        self.log_probs.at_least(device, targets)?.read(device, &mut found.log_probs)?;
        self.entropies.at_least(device, targets)?.read(device, &mut found.entropies)?;
        self.keep.at_least(device, targets)?.read(device, &mut found.keep)?;
        Ok(found)
    }
}

impl TargetsAt {
    /// From this target on.
    pub(super) fn starting_at_target(self, target: usize) -> Self {
        // All are arrays of 32-bit numbers.
        let further = |address: Address| address.offset(target, size_of::<u32>());
        Self {
            log_probs: further(self.log_probs),
            entropies: further(self.entropies),
            sums: further(self.sums),
            gradients: further(self.gradients),
            keep: further(self.keep),
        }
    }
}

impl PassRoom {
    /// Nothing yet.
    pub(super) fn new(sizes: &Sizes) -> Self {
        let mut layers = Vec::new();
        layers.resize_with(sizes.layers as usize, LayerRoom::new);
        Self {
            x: Room::new("the residual stream"),
            cache: Room::new("keys and values"),
            layers,
            head: HeadRoom::new(),
            scratch: ScratchRoom::new(),
        }
    }

    /// Hands over a micro-batch. Its gradients are added to the sums of `descent`.
    pub(super) fn run(
        &mut self,
        model: &DeviceModel,
        descent: &Descent,
        (part, at): (&Part, &PartAt),
        aim: Aim<'_>,
        targets: TargetsAt,
        [row_notes, target_notes]: [NotesAt; 2],
    ) -> Result<(), DeviceError> {
        let (device, sizes) = (&model.device, &model.sizes);
        let width = sizes.width as usize;
        let x = self.x.address(device, part.rows.len() * width)?;
        let page_stride = layer_stride(model) * sizes.layers;
        let cache = CacheAt {
            address: self.cache.address(device, part.pages * page_stride as usize)?,
            page_stride,
            layer_stride: layer_stride(model),
        };
        let forward = Forward { model, rows: at.rows, cache, notes: row_notes };
        let layers = self.layers.iter_mut().map(|layer| layer.at(device, sizes, at.rows.count));
        let layers: Vec<LayerAt> = layers.collect::<Result<_, _>>()?;
        forward.embed(x)?;
        for (layer, layer_at) in (0..).zip(&layers) {
            forward.layer(layer, x, layer_at)?;
        }
        let head_at = self.head.at(device, sizes, part.targets.len())?;
        let head = Head { model, rows: at.targets, at: head_at, notes: target_notes };
        objective(&head, at, x, aim, targets)?;

        let head_x: &mut Buffer<f32> = self.head.x(device, part.targets.len() * width)?;
        // The rows that were taken have served; their gradients take their place.
        head_x.clear(device)?;
        let backward = Backward {
            forward,
            part: at,
            scratch: self.scratch.at(model, at)?,
            gradients: descent.gradients.address(),
            lookup: descent.lookup.address(),
        };
        backward.head(&head_at, x)?;
        for (layer, layer_at) in (0..sizes.layers).zip(&layers).rev() {
            backward.layer(layer, x, layer_at)?;
        }
        backward.embed(x)
    }
}

/// From the residual stream to log-probabilities, and to the gradients of the logits, which take the logits' place.
fn objective(
    head: &Head<'_>,
    part: &PartAt,
    x: Address,
    aim: Aim<'_>,
    targets: TargetsAt,
) -> Result<(), DeviceError> {
    let (device, sizes, at) = (&head.model.device, &head.model.sizes, &head.at);
    let index = part.target_rows;
    device.launch(&TakeRows { from: x, index, rows: part.targets, width: sizes.width, out: at.x })?;
    head.run()?;
    device.launch(&LogSoftmax {
        logits: at.logits,
        vocab: sizes.vocab,
        rows: part.targets,
        tokens: part.target_tokens,
        temperature: aim.temperature,
        log_probs: targets.log_probs,
        entropies: targets.entropies,
        sums: targets.sums,
        faults: head.notes.rows,
        halt: head.notes.halt,
        code: Stage::Logits.code(),
    })?;
    let (objective, [delta_low, delta_high]) = match aim.objective {
        Objective::CrossEntropy => (ObjectiveCode::CrossEntropy, [0.0; 2]),
        Objective::Dppo(params) => {
            let code = match params.divergence {
                Divergence::Tv => ObjectiveCode::DppoTv,
                Divergence::Kl => ObjectiveCode::DppoKl,
            };
            (code, [params.delta_low as f32, params.delta_high as f32])
        }
    };
    device.launch(&TokenGradient {
        log_probs: targets.log_probs,
        rollout_log_probs: part.rollout_log_probs,
        advantages: part.advantages,
        weights: part.weights,
        count: part.targets,
        objective: objective as u32,
        divisor: aim.targets,
        delta_low,
        delta_high,
        gradients: targets.gradients,
        keep: targets.keep,
        halt: head.notes.halt,
    })?;
    device.launch(&LogitGradient {
        logits: at.logits,
        vocab: sizes.vocab,
        rows: part.targets,
        tokens: part.target_tokens,
        sums: targets.sums,
        gradients: targets.gradients,
        temperature: aim.temperature,
    })
}
