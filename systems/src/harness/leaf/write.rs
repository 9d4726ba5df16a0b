//! Write: a whole file.

use super::Answer;
use super::arguments::Arguments;
use super::files::Files;
use super::read::counted;

/// Gives a file its whole content.
pub(super) fn write(files: &mut Files, arguments: &Arguments<'_>) -> Answer {
    let path = arguments.file_path()?;
    let content = arguments.text("content")?;
    files.write(path, content.as_bytes().to_vec())?;
    Ok(format!("Wrote {} ({}).", files.shown(path)?, counted(content.len(), "byte")))
}
