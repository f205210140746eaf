//! Objects that users name with `-f`: files, folders, addresses, and standard input. And files that a command writes.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use berth_review::Source;
use serde_json::Value;

use crate::failure::CommandError;
use crate::web;

/// Byte bound of standard input.
const LONGEST: u64 = 64 << 20;

/// The flags that name objects.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct FilesArgs {
    /// Files with the objects, folders of such files, or http and https URLs; '-' is standard input (repeatable)
    #[arg(
        short,
        long = "filename",
        value_name = "FILE,...",
        value_delimiter = ',',
        required = true
    )]
    files: Vec<PathBuf>,
    /// Read the folders of -f with all folders in them
    #[arg(short = 'R', long)]
    recursive: bool,
}

// === impl FilesArgs ===

impl FilesArgs {
    /// Reads the objects of the files, each with its position, as they are. `-` is standard input. Of a folder, the files whose names end in
    /// .json, .yaml or .yml are read, sorted.
    ///
    /// # Errors
    /// The message names the file and the document.
    pub(crate) async fn objects(&self) -> anyhow::Result<Vec<(Source, Value)>> {
        let mut objects = Vec::new();
        for file in &self.files {
            match file.to_str() {
                Some("-") => {
                    let mut text = String::new();
                    let read = std::io::stdin().take(LONGEST + 1).read_to_string(&mut text);
                    if read.context("standard input")? as u64 > LONGEST {
                        bail!("standard input has more than {LONGEST} bytes");
                    }
                    objects.extend(berth_review::objects_in("standard input", &text)?);
                }
                Some(url) if web::is_url(url) => {
                    let text = web::text(url).await?;
                    objects.extend(berth_review::objects_in(url, &text)?);
                }
                _ if self.recursive => objects.extend(berth_review::objects_under(file)?),
                _ => objects.extend(berth_review::objects(&[file])?),
            }
        }
        Ok(objects)
    }
}

/// Writes a file that only its owner can read. It must not exist: another user could have opened it. `flag` is for the error.
pub(crate) fn write_private(flag: &str, path: &Path, text: &str) -> Result<(), CommandError> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| CommandError::Config(format!("{flag} {}: {error}", path.display())))
}
