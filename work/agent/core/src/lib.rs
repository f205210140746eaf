//! What an agent does about the ManifestWorks of its cluster, and when.
//!
//! # Shape
//! A [`View`] is what the agent knows: the ManifestWorks on the hub, the objects on the cluster, and how far each work is. Watches change it
//! ([`View::work_changed`], [`View::row_sees`], ...), and each change names the [`Key`]s that it concerns. What is due for a key is decided
//! by plain functions of the view and the time; `berth-work-agent` sends what they say, and tells the view what came of it.
//! - `targets`: from manifests to objects; `rows`: one watch for each kind and namespace that manifests name; `mapping`: their resources;
//! - `objects`: an object that arrives is compared with its manifests, and not kept;
//! - [`Pass`]: one object after the other is applied, then they are listed; `manifest`: what is due for one manifest; `attempt`, `executor`: the requests for it, one after the other; `compute`: what takes long between them, without the view; `progress`, `wait`, `fights`, `checks`: how far it is, and what it waits for;
//! - `permissions`, `answers`: the roles and bindings of the cluster, and what they allow to the executors of works;
//! - `record`: the list of objects in the AppliedManifestWork; `room`: which works fit into the agent's memory;
//! - [`lifecycle`], [`eviction`]: from the finalizer of a ManifestWork to the end of its AppliedManifestWork; [`status`]: its status;
//! - `hold`: an admin of the cluster holds back what the hub changes, or all writes;
//! - `rivals`: another agent with the same agent ID, which undoes what this one writes to AppliedManifestWorks.

mod answers;
mod attempt;
mod checks;
mod compute;
pub mod eviction;
mod executor;
mod facts;
mod fights;
mod hold;
pub mod lifecycle;
mod lines;
mod manifest;
mod mapping;
mod objects;
mod pass;
mod permissions;
mod progress;
mod ready;
mod record;
mod rivals;
mod room;
mod rows;
#[cfg(test)]
mod scale;
mod settings;
pub mod status;
pub mod targets;
#[cfg(test)]
mod testing;
mod view;
mod wait;

pub use attempt::{Answer, Ask, NoAnswer, Request};
pub use checks::Access;
pub use compute::{Compute, Computed};
pub use facts::{Definition, applied_works, works};
pub use lines::LONGEST;
pub use mapping::{Kinds, Mapped, Mapping, Unmapped};
pub use objects::{Arrived, Entry, Evaluator, Known, ObjectItem, Prescriptions};
pub use pass::{End, Next, Pass, Reply};
pub use permissions::{Change, RbacKind};
pub use ready::Ready;
pub use rivals::{manager, words};
pub use rows::{RowId, Sight};
pub use settings::{Identity, Settings};
pub use view::{Key, Notice, View, Wakes};
