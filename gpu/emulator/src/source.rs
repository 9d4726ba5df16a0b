//! The kernels' text.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use thiserror::Error;

/// What an entry point begins with.
const ENTRY: &str = "extern \"C\" __global__ void";

/// The `.cu` and `.cuh` files of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    files: BTreeMap<String, String>,
}

/// Name and parameters of an entry point, as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name.
    pub name: String,
    /// The parameters in order.
    pub parameters: Vec<Parameter>,
}

/// A parameter of an entry point, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The type, up to and including any `*`.
    pub kind: String,
    /// The name.
    pub name: String,
}

/// Why a fault cannot be planted: the text to be replaced must occur exactly once.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file} has {found} places that read {text:?}, not one")]
pub struct PlantError {
    file: String,
    text: String,
    found: usize,
}

impl Sources {
    /// Reads a directory.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            let kind = path.extension().and_then(|extension| extension.to_str());
            if let (Some("cu" | "cuh"), Some(name)) = (kind, path.file_name().and_then(|name| name.to_str()))
            {
                files.insert(name.to_owned(), std::fs::read_to_string(&path)?);
            }
        }
        Ok(Self { files })
    }

    /// Adds a file, or replaces it.
    #[must_use]
    pub fn with(mut self, name: &str, text: &str) -> Self {
        self.files.insert(name.to_owned(), text.to_owned());
        self
    }

    /// Leaves out all `.cu` files but one.
    #[must_use]
    pub fn only(mut self, file: &str) -> Self {
        self.files.retain(|name, _| name == file || has_extension(name, "cuh"));
        self
    }

    /// Replaces a text that occurs exactly once in a file.
    pub fn plant(mut self, file: &str, text: &str, fault: &str) -> Result<Self, PlantError> {
        let found = self.files.get(file).map_or(0, |source| source.matches(text).count());
        let Some(source) = self.files.get_mut(file).filter(|_| found == 1) else {
            return Err(PlantError { file: file.to_owned(), text: text.to_owned(), found });
        };
        *source = source.replacen(text, fault, 1);
        Ok(self)
    }

    /// Names and texts, in order of name.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The entry points of a file, in the order of the text.
    pub fn signatures(&self, file: &str) -> Vec<Signature> {
        let text = self.files.get(file).map_or("", String::as_str);
        text.split(ENTRY).skip(1).filter_map(signature).collect()
    }

    /// The entry points of all files.
    pub fn entries(&self) -> Vec<String> {
        let files = self.files.keys().filter(|name| has_extension(name, "cu"));
        files.flat_map(|file| self.signatures(file)).map(|signature| signature.name).collect()
    }
}

/// Whether a file's name ends so.
pub(crate) fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == extension)
}

/// Reads `__launch_bounds__(N) name(parameters) ...`.
fn signature(text: &str) -> Option<Signature> {
    let text = text.trim_start();
    let text = match text.strip_prefix("__launch_bounds__(") {
        Some(rest) => rest.split_once(')')?.1,
        None => text,
    };
    let (name, rest) = text.split_once('(')?;
    let (list, _) = rest.split_once(')')?;
    let parameters = list.split(',').map(parameter).collect();
    Some(Signature { name: name.trim().to_owned(), parameters })
}

fn parameter(text: &str) -> Parameter {
    let text = text.trim();
    let at = text.rfind([' ', '*']).map_or(0, |at| at + 1);
    let (kind, name) = text.split_at(at);
    Parameter { kind: kind.trim().to_owned(), name: name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Sources {
        let text = "extern \"C\" __global__ void __launch_bounds__(32)\nscale(const float *x, unsigned long long count,\n \
                    float by) { one(x); one(x); }";
        Sources { files: BTreeMap::new() }.with("a.cu", text).with("b.cuh", "")
    }

    #[test]
    fn a_signature_is_read_as_it_is_written() {
        let signatures = sources().signatures("a.cu");
        let parameters: Vec<(&str, &str)> =
            signatures[0].parameters.iter().map(|p| (p.kind.as_str(), p.name.as_str())).collect();
        assert_eq!(signatures[0].name, "scale");
        assert_eq!(parameters, [("const float *", "x"), ("unsigned long long", "count"), ("float", "by")]);
    }

    #[test]
    fn a_fault_is_planted_in_one_place_or_not_at_all() {
        let planted = sources().plant("a.cu", "float by", "double by").unwrap();
        assert_eq!(planted.signatures("a.cu")[0].parameters[2].kind, "double");
        let error = sources().plant("a.cu", "one(x)", "two(x)").unwrap_err();
        assert_eq!(error.to_string(), "a.cu has 2 places that read \"one(x)\", not one");
    }
}
