//! Objects that users name with `-f`: files, folders, and standard input.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, bail};
use berth_review::Source;
use serde_json::Value;

/// Byte bound of standard input.
const LONGEST: u64 = 64 << 20;

/// Reads the objects of files, each with its position, as they are. `-` is standard input.
///
/// # Errors
/// The message names the file and the document.
pub(crate) fn objects(files: &[PathBuf]) -> anyhow::Result<Vec<(Source, Value)>> {
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
            Some(url) if url.starts_with("https://") || url.starts_with("http://") => {
                bail!("{url} is not read: pipe it, as in curl -fsSL URL | berth ... -f -")
            }
            _ => objects.extend(berth_review::objects(&[file])?),
        }
    }
    Ok(objects)
}
