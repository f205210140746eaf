//! The play: who does what, and what comes of it.

use std::fs;
use std::path::Path;

use anyhow::Context;
use kube::config::Kubeconfig;
use serde_json::Value;

use crate::act::{FILES, StepResult};
use crate::people;
use crate::request::Answer;
use crate::steps::steps;
use crate::text::Screen;

/// Puts the files that the commands name where they can be found.
pub(super) fn write_files(folder: &Path) -> anyhow::Result<()> {
    for (name, text) in FILES {
        fs::write(folder.join(name), text).with_context(|| format!("{name} cannot be written"))?;
    }
    Ok(())
}

/// Plays all of it. An end that the play does not have is an error.
pub(super) async fn play(screen: &Screen, kubeconfig: &Kubeconfig) -> anyhow::Result<()> {
    for (number, step) in steps().into_iter().enumerate() {
        let client = people::client(kubeconfig, step.who).await?;
        screen.story(number + 1, step.story)?;
        screen.command(&step.act.command(step.who))?;
        match step.act.send(&client).await? {
            StepResult::Seen(lines) => {
                for line in lines {
                    screen.done(&line)?;
                }
            }
            StepResult::Answered(Answer::Done { object, warnings }) => {
                screen.warnings(&warnings)?;
                screen.done(&step.act.result(&object))?;
                if let Some(pointer) = step.shows {
                    let shown = object.pointer(pointer).unwrap_or(&Value::Null);
                    screen.field(pointer, shown)?;
                }
                anyhow::ensure!(
                    !step.refused,
                    "the hub let pass what it should have refused"
                );
            }
            StepResult::Answered(Answer::Refused {
                reason,
                message,
                warnings,
            }) => {
                screen.warnings(&warnings)?;
                let about = step.act.about();
                screen.refused(&format!("Error from server ({reason}): {about}{message}"))?;
                anyhow::ensure!(step.refused, "the hub refused what it should have let pass");
            }
        }
    }
    Ok(())
}
