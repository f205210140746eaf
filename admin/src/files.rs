//! Objects that users name with `-f`: files, folders, addresses, and standard input.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, bail};
use berth_review::Source;
use serde_json::Value;

use crate::web;

/// Byte bound of standard input.
const LONGEST: u64 = 64 << 20;

/// The flag that goes with `-f`.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Folders {
    /// Read the folders of -f with all folders in them
    #[arg(short = 'R', long)]
    recursive: bool,
}

// === impl Folders ===

impl Folders {
    /// Reads the objects of files, each with its position, as they are. `-` is standard input. Of a folder, the files whose names end in
    /// .json, .yaml or .yml are read, sorted.
    ///
    /// # Errors
    /// The message names the file and the document.
    pub(crate) async fn objects(self, files: &[PathBuf]) -> anyhow::Result<Vec<(Source, Value)>> {
        let mut objects = Vec::new();
        for file in files {
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
