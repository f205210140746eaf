//! Makes add-ons of their templates, and writes their works.

use std::collections::BTreeMap;

use berth_addons_core::ON_CLUSTER;
use berth_addons_core::deploy::{Made, Objects, Part};
use berth_addons_core::template;
use berth_addons_core::works::writes::{Owner, writes};
use berth_addons_core::works::{self, Digest, Layout};
use berth_api::ManifestWork;
use berth_api::plan::{Target, WriteFailure};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Refusal, WriteOutcome, failed};

use super::deployments::Inputs;
use super::job::Job;
use super::kinds::Kind;
use super::world::AddOns;

/// The objects of the latest job of a reconcile: they are rendered once.
pub(super) type Latest = Option<(Inputs, Objects)>;

/// Why works are not as they should be.
enum Stop {
    /// A user has to mend this.
    Mend(String),
    /// A call failed. What a user has to mend is in the text.
    Failed(Option<String>, Next),
}

/// Does a job. Returns how the reconcile ends once the conditions say what a user has to mend.
///
/// # Errors
/// A call failed, and may succeed later. The reconcile ends like this.
pub(super) async fn make(
    on: &Handle<AddOns>,
    job: &Job,
    latest: &mut Latest,
) -> Result<Option<Next>, Next> {
    // Without a part, what it makes is not known, or not any more.
    let is_latest = latest.as_ref().is_some_and(|it| it.0 == job.inputs);
    if job.part.is_none() || !is_latest {
        *latest = render(on, job);
    }
    let (Some(part), Some((_, objects))) = (job.part, latest) else {
        return Ok(None);
    };
    let (fault, end) = match write(on, job, part, objects).await {
        Ok(()) => return Ok(None),
        Err(Stop::Mend(fault)) => (fault, None),
        Err(Stop::Failed(Some(fault), next)) => (fault, Some(next)),
        Err(Stop::Failed(None, next)) => return Err(next),
    };
    set_fault(on, job, fault);
    Ok(end)
}

fn set_fault(on: &Handle<AddOns>, job: &Job, why: String) {
    on.world().view.set_fault(&job.at, Some(why));
}

/// Renders the template, and notes what it makes.
fn render(on: &Handle<AddOns>, job: &Job) -> Latest {
    let Inputs {
        template,
        config,
        image_registries,
        ..
    } = &job.inputs;
    let made = match &template.spec {
        None => Err("the AddOnTemplate cannot be read".to_owned()),
        Some(template) => Made::of(
            &template::Request {
                addon: &job.at.1,
                cluster: &job.at.0,
                template,
                config: config.as_ref().and_then(|it| it.spec.as_ref()),
                image_registries: image_registries.as_deref(),
            },
            job.inputs.hosting().is_other(),
        ),
    };
    let (made, objects) = match made {
        Ok((made, objects)) => (Ok(made), Some(objects)),
        Err(why) => (Err(why), None),
    };
    on.world().view.made(job, made);
    objects.map(|objects| (job.inputs.clone(), objects))
}

/// Writes the works of a part. Without a write they are noted to be as they should be.
async fn write(on: &Handle<AddOns>, job: &Job, part: Part, objects: &Objects) -> Result<(), Stop> {
    let (cluster, addon) = &job.at;
    let Some(namespace) = part.namespace(cluster, job.inputs.hosting()) else {
        return Ok(());
    };
    let owner = Owner {
        namespace,
        addon: (!part.is_hosted()).then_some((addon, &job.inputs.owner)),
        reconciler: ON_CLUSTER,
    };
    let place = part.place(cluster);
    let configs = match &job.inputs.template.spec {
        Some(spec) => &spec.agent_spec.manifest_configs[..],
        None => &[],
    };
    let lay_out = |existing: &[ManifestWork]| {
        works::layout(&works::Request {
            addon,
            place,
            objects: objects.of(part),
            manifest_configs: configs,
            configs: job.inputs.references(),
            existing,
        })
        .map_err(|it| Stop::Mend(it.to_string()))
    };
    let stored: BTreeMap<_, _> = (job.stored.iter())
        .filter(|((of, name), _)| of == namespace && place.has(addon, name))
        .map(|((_, name), digest)| (name.clone(), *digest))
        .collect();
    let fresh = lay_out(&[])?;
    if let Some(digests) = digests(&fresh, &owner)
        && fresh.works.len() <= 1
        && (digests.iter().map(|(name, it)| (name, Some(*it))))
            .eq(stored.iter().map(|(name, it)| (name, *it)))
    {
        on.world().view.done(job, part, digests);
        return Ok(());
    }
    let mut existing = Vec::new();
    for name in stored.keys() {
        existing.extend(read(on, namespace, name).await?);
    }
    let layout = match existing.is_empty() {
        true => fresh,
        false => lay_out(&existing)?,
    };
    let due = writes(&layout, &owner, &existing);
    if due.is_empty() {
        let left = existing
            .iter()
            .filter(|it| it.metadata.deletion_timestamp.is_none());
        let digests = left.filter_map(|it| {
            let name = it.metadata.name.clone()?;
            Some((name, Digest::of_stored(it).ok()?))
        });
        on.world().view.done(job, part, digests.collect());
        return Ok(());
    }
    let WriteOutcome::Failed(failures) = on.carry_out(due).await else {
        return Ok(());
    };
    let taken = failures
        .iter()
        .map(|(it, _)| it)
        .filter(|it| it.code == 409);
    let unseen: Vec<_> = taken
        .map(|it| &it.target.name)
        .filter(|it| !stored.contains_key(*it))
        .collect();
    if unseen.is_empty() || lasting(&failures).is_some() {
        return Err(refused(&failures));
    }
    for name in unseen {
        existing.extend(unlabelled(on, &owner, name).await?);
    }
    match on
        .carry_out(writes(&lay_out(&existing)?, &owner, &existing))
        .await
    {
        WriteOutcome::Nothing | WriteOutcome::Written => Ok(()),
        WriteOutcome::Failed(failures) => Err(refused(&failures)),
    }
}

/// The API server's message about a failure that a user has to mend.
fn lasting(failures: &[(WriteFailure, Refusal)]) -> Option<String> {
    let lasting = failures.iter().find(|(it, _)| !it.is_transient());
    lasting.map(|(failure, _)| failure.message.clone())
}

fn refused(failures: &[(WriteFailure, Refusal)]) -> Stop {
    Stop::Failed(lasting(failures), failed(failures))
}

/// Reads a work that exists, and that the watch does not show since it has lost its label.
async fn unlabelled(
    on: &Handle<AddOns>,
    owner: &Owner<'_>,
    name: &str,
) -> Result<Option<ManifestWork>, Stop> {
    let Some(work) = read(on, owner.namespace, name).await? else {
        return Ok(None);
    };
    let owners = work.metadata.owner_references.iter().flatten();
    let uids: Vec<_> = owners.map(|it| &*it.uid).collect();
    match owner.addon {
        Some((_, uid)) if uids.contains(&uid) => Ok(Some(work)),
        // Those on a cluster that hosts the agent have no owner.
        None if uids.is_empty() => Ok(Some(work)),
        // Nobody tells when it goes.
        _ => Err(Stop::Failed(
            Some(format!(
                "another ManifestWork {name} exists in the namespace {}; delete it",
                owner.namespace
            )),
            Next::Failed { wait: None },
        )),
    }
}

/// Reads a work whole. `None` if it is gone.
async fn read(
    on: &Handle<AddOns>,
    namespace: &str,
    name: &str,
) -> Result<Option<ManifestWork>, Stop> {
    let target = Target {
        resource: Kind::Work.resource(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    };
    let since = on.moment(Kind::Work);
    let object = match on.writer(0).read(&target).await {
        Ok((object, _)) => object,
        Err(refusal) if refusal.is_absent => {
            on.gone(since, namespace, name);
            return Ok(None);
        }
        Err(refusal) => {
            let wait = refusal.retry_after;
            return Err(Stop::Failed(None, Next::Failed { wait }));
        }
    };
    // The watch may be late.
    on.observed(Kind::Work, &object);
    match object.parse() {
        Ok(work) => Ok(Some(work)),
        Err(error) => Err(Stop::Mend(format!(
            "ManifestWork {name} cannot be read: {error}"
        ))),
    }
}

/// The digests that the works of a layout will have.
fn digests(layout: &Layout, owner: &Owner<'_>) -> Option<BTreeMap<String, Digest>> {
    let works = layout.works.iter();
    let digests = works.map(|it| Some((it.name.clone(), Digest::of(it, owner).ok()?)));
    digests.collect()
}
