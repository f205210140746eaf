//! Carries out what is due on the managed cluster of an agent that runs on this one.

use std::fmt::Display;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_api::plan::{Target, Write};
use berth_hub::{Call, CallError, HubApi, object_path, optional, query_value};
use berth_operator_core::Failure;
use berth_operator_core::cluster::{
    Account, AppliedWork, AppliedWorks, Credentials, KINDS_THERE, MANAGED_SECRET, Managed, Outcome,
    RECONCILER, TOKEN_SECONDS, Task, There, Unprepared, Unusable, content, credentials, is_good,
    is_shared, secret,
};
use berth_operator_core::names::{CREATED_BY_KLUSTERLET, NAMESPACE_OF};
use berth_operator_core::objects::{Id, Kind, MANAGER};
use berth_reconcile::{Handle, Item, WriteOutcome, now};
use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::Value;

use super::connection::decoded;
use super::kinds::{WorkObject, resource_of_works};
use super::world::Operator;
use crate::elsewhere::{Elsewhere, is_away};

/// Upper bound on the steps of a task: each of the parts is taken over, then written.
const MOST_STEPS: usize = 24;

/// Upper bound on the AppliedManifestWorks that are read at the same time.
const READS_AT_ONCE: usize = 16;

const WORKS: &str = "/apis/work.open-cluster-management.io/v1/appliedmanifestworks";

/// The kubeconfig of the managed cluster.
struct Kubeconfig {
    credentials: Credentials,
    created: String,
}

/// Looks whether the managed cluster can be reached, and carries out the task. `prunes`: what is not wanted any more goes.
pub(super) async fn carry_out(
    on: &Handle<Operator>,
    task: Task,
    there: &There,
    prunes: bool,
) -> Managed {
    let (kubeconfig, elsewhere) = match reach(on, there).await {
        Ok(reached) => reached,
        Err(unprepared) => {
            return Managed {
                task,
                ready: Err(unprepared),
                outcome: Outcome::Nothing,
            };
        }
    };
    let outcome = match task {
        Task::Prepare => Outcome::Nothing,
        Task::Install => match install(on, &elsewhere, there, prunes, &kubeconfig).await {
            Ok(()) => Outcome::Done,
            Err(failures) => Outcome::Failed(failures),
        },
        Task::Clean => match clean(&elsewhere, there).await {
            Ok(outcome) => outcome,
            Err(why) => Outcome::Failed(vec![failure(Kind::ClusterRole, &why)]),
        },
    };
    let created = &kubeconfig.created;
    let ready = format!(
        "Klusterlet is ready to apply, the external managed kubeconfig secret was created at: {created}"
    );
    Managed {
        task,
        ready: Ok(ready),
        outcome,
    }
}

fn failure(kind: Kind, error: &impl Display) -> Failure {
    Failure {
        kind,
        message: format!("the managed cluster: {error}"),
    }
}

async fn reach(
    on: &Handle<Operator>,
    there: &There,
) -> Result<(Kubeconfig, Elsewhere), Unprepared> {
    let namespace = there.name();
    let what = format!("secret {namespace}/{MANAGED_SECRET}");
    let unusable = |is_away: bool, why: String| Unprepared { is_away, why };
    let call = Call::get(object_path(
        ("", "v1", "secrets"),
        namespace,
        MANAGED_SECRET,
    ));
    let secret = optional(on.writer(0).send(call).await);
    let secret = secret.map_err(|error| unusable(false, error.to_string()))?;
    let secret = secret.ok_or_else(|| {
        let why = format!(
            "{what} does not exist; create it with a kubeconfig of the managed cluster in the key kubeconfig"
        );
        unusable(true, why)
    })?;
    let secret: Value = secret
        .json()
        .map_err(|error| unusable(false, error.to_string()))?;
    let found = credentials(&decoded(&secret), |it| BASE64_STANDARD.encode(it));
    let credentials = found.map_err(|why| match why {
        Unusable::Missing => unusable(false, format!("{what} has no key kubeconfig")),
        Unusable::Kubeconfig(why) => unusable(false, format!("the kubeconfig of {what}: {why}")),
    })?;
    let api = HubApi::of_kubeconfig(&credentials.kubeconfig, &what).await;
    let api = api.map_err(|error| unusable(false, error.to_string()))?;
    let elsewhere = Elsewhere::new(on.writer(0), api);
    elsewhere.answers(WORKS).await.map_err(|error| {
        let why = format!("{} with {what}: {error}", credentials.server);
        unusable(is_away(&error), why)
    })?;
    let created = secret["metadata"]["creationTimestamp"].as_str();
    let created = created.unwrap_or_default().to_owned();
    Ok((
        Kubeconfig {
            credentials,
            created,
        },
        elsewhere,
    ))
}

async fn install(
    on: &Handle<Operator>,
    elsewhere: &Elsewhere,
    there: &There,
    prunes: bool,
    kubeconfig: &Kubeconfig,
) -> Result<(), Vec<Failure>> {
    let of = |kind| move |error: CallError| vec![failure(kind, &error)];
    let label = (CREATED_BY_KLUSTERLET, there.name());
    for _ in 0..MOST_STEPS {
        let stored = elsewhere.stored(&KINDS_THERE, label, there.ids()).await;
        let stored = stored.map_err(of(Kind::ClusterRole))?;
        let writes = there.due(&stored, prunes).map_err(|it| vec![it])?;
        if writes.is_empty() {
            let uid = stored.get(&there.account()).map(|it| it.uid.clone());
            return keep_credentials(on, elsewhere, there, kubeconfig, uid.unwrap_or_default())
                .await;
        }
        let failures = elsewhere.carry_out(&writes).await;
        if !failures.is_empty() {
            return Err(failures);
        }
    }
    Err(vec![Failure {
        kind: Kind::ClusterRole,
        message: "the managed cluster: another client changes what is written".to_owned(),
    }])
}

/// Makes the Secret with the credentials of the agent, unless it is good.
async fn keep_credentials(
    on: &Handle<Operator>,
    elsewhere: &Elsewhere,
    there: &There,
    kubeconfig: &Kubeconfig,
    uid: String,
) -> Result<(), Vec<Failure>> {
    let of = |error: CallError| vec![failure(Kind::Deployment, &error)];
    let id = there.secret();
    let Id { name, .. } = there.account();
    let account = Account {
        namespace: there.account().namespace,
        name,
        uid,
    };
    let cluster = &kubeconfig.credentials.cluster;
    let call = Call::get(object_path(("", "v1", "secrets"), &id.namespace, &id.name));
    let stored = optional(on.writer(0).send(call).await).map_err(of)?;
    let stored: Option<Value> = stored.map(|it| it.json()).transpose().map_err(of)?;
    let data = stored.as_ref().map(decoded).unwrap_or_default();
    if is_good(&data, cluster, &account, now().wall) {
        return Ok(());
    }
    let token = elsewhere.token(&account.namespace, &account.name, TOKEN_SECONDS);
    let token = token.await.map_err(of)?;
    let content = content(cluster, &account, &token.token, token.expires.as_deref());
    let body = secret(&id, &there.labels(), &content, |it| {
        BASE64_STANDARD.encode(it)
    });
    let write = Write {
        target: Target {
            resource: Kind::Secret.resource(),
            namespace: Some(id.namespace),
            name: id.name,
        },
        action: berth_api::plan::Action::Apply {
            manager: MANAGER,
            body,
        },
        reconciler: RECONCILER,
        events: Vec::new(),
    };
    match on.carry_out(vec![write]).await {
        WriteOutcome::Failed(failures) => {
            let failures = failures.into_iter();
            let failures = failures.filter_map(|(it, _)| crate::settle::failure(&it));
            Err(failures.collect())
        }
        _ => Ok(()),
    }
}

async fn clean(elsewhere: &Elsewhere, there: &There) -> Result<Outcome, String> {
    let said = |error: CallError| error.to_string();
    let label = (CREATED_BY_KLUSTERLET, there.name());
    let has_others = has_others(elsewhere, there).await.map_err(said)?;
    // Read when it is their turn, and again once they were written.
    let mut works = None;
    for _ in 0..MOST_STEPS {
        let shared = there.ids().filter(is_shared);
        let stored = elsewhere.stored(&KINDS_THERE, label, shared).await;
        let stored = stored.map_err(said)?;
        let (writes, waits_for) = there.clean(&stored, works.as_ref(), has_others);
        if writes.is_empty() && works.is_none() {
            works = Some(self::works(elsewhere, there).await?);
            continue;
        }
        if writes.is_empty() {
            return Ok(waits_for.map_or(Outcome::Done, Outcome::WaitsFor));
        }
        let failures = elsewhere.carry_out(&writes).await;
        if !failures.is_empty() {
            return Ok(Outcome::Failed(failures));
        }
        if writes
            .iter()
            .any(|it| it.target.resource == resource_of_works())
        {
            works = None;
        }
    }
    Ok(Outcome::WaitsFor("the end of what is deleted".to_owned()))
}

/// Returns whether other Klusterlets have agents of that cluster.
async fn has_others(elsewhere: &Elsewhere, there: &There) -> Result<bool, CallError> {
    let call = Call::get(format!(
        "/api/v1/namespaces?labelSelector={}",
        query_value(NAMESPACE_OF)
    ));
    let list: Value = elsewhere.writer().send(call).await?.json()?;
    let mut items = list["items"].as_array().into_iter().flatten();
    Ok(items.any(|it| it["metadata"]["labels"][NAMESPACE_OF] != *there.name()))
}

/// The AppliedManifestWorks of that cluster with the finalizer of this agent. They may be large, so each is read by itself.
async fn works(elsewhere: &Elsewhere, there: &There) -> Result<AppliedWorks, String> {
    let target = |name: &str| Target {
        resource: resource_of_works(),
        namespace: None,
        name: name.to_owned(),
    };
    let mut names: Vec<String> = Vec::new();
    let mut look = |item: &Item<'_>| {
        names.push(item.meta.name.clone());
        Ok(())
    };
    let all = target("");
    let listed = elsewhere.writer().each_metadata(&all, &mut look);
    listed.await.map_err(|refusal| refusal.message)?;
    let reads = names.into_iter().map(|name| async move {
        let path = object_path(
            (
                "work.open-cluster-management.io",
                "v1",
                "appliedmanifestworks",
            ),
            "",
            &name,
        );
        let answer = optional(elsewhere.writer().send(Call::get(path)).await)?;
        let work: Option<WorkObject> = answer.map(|it| it.json()).transpose()?;
        Ok::<_, CallError>(work.map(|it| (name, AppliedWork::from(it))))
    });
    let reads = stream::iter(reads).buffer_unordered(READS_AT_ONCE);
    let uid = there.uid();
    let own = reads.try_filter_map(|it| async move { Ok(it.filter(|(_, it)| it.agent == uid)) });
    own.try_collect()
        .await
        .map_err(|error: CallError| error.to_string())
}
