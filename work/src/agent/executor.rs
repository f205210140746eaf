//! Executors: whether the service account that a ManifestWork names may write an object, asked and cached.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use berth_hub::{Call, CallError};
use berth_reconcile::{Writer, now};
use berth_work_core::executor::{self, Account};
use berth_work_core::{Applying, Failure, Holding, Mapped, Response, Retry, Settled, Step};
use http::HeaderValue;
use k8s_openapi::api::authorization::v1::SubjectAccessReviewSpec;
use serde_json::{Value, json};

use super::call::{self, IMPERSONATE_USER, create_call};
use super::objects::Entry;
use super::settings::Settings;

/// How long an answer counts, as long as OCM's agent waits after a refusal.
const VALID: Duration = Duration::from_secs(60);

/// Upper bound on the answers that are kept.
const MOST: usize = 10_000;

/// The path of SubjectAccessReviews.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// The answers, and when the questions were sent.
#[derive(Debug, Default)]
pub(crate) struct Executors(Mutex<HashMap<Question, (bool, Instant)>>);

/// What is to become of a write.
#[derive(Debug)]
pub(crate) enum Ruling {
    /// It is sent.
    Send,
    /// It would get this response.
    Answered(Response),
    /// The executor may not make it.
    Refused(Failure),
}

/// The executor may not write an object.
#[derive(Debug)]
pub(crate) struct Denied {
    /// Why.
    pub(crate) failure: Failure,
    /// It may read the object.
    pub(crate) may_read: bool,
}

/// May this account do this with this object?
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question {
    account: Account,
    verb: String,
    path: String,
}

// === impl Executors ===

impl Executors {
    /// Returns why the executor of the manifest's ManifestWork may not write the object. `None`: it may, or there is no executor.
    /// Answers to questions that were sent before `since` do not count.
    ///
    /// # Errors
    /// The managed cluster does not respond.
    pub(crate) async fn refusal(
        &self,
        cluster: &Writer,
        entry: &Entry,
        settings: &Settings,
        since: Option<Instant>,
    ) -> Result<Option<Denied>, CallError> {
        let unreadable = |failure| {
            Ok(Some(Denied {
                failure,
                may_read: false,
            }))
        };
        let account = match executor::account(entry.executor()) {
            Ok(None) => return Ok(None),
            Ok(Some(account)) => account,
            Err(failure) => return unreadable(failure),
        };
        // An invalid manifest fails when it is applied.
        let Ok(object) = entry.prescribed() else {
            return Ok(None);
        };
        if let Some(failure) = executor::agents_own(&object, &settings.namespace) {
            return unreadable(failure);
        }
        if !settings.impersonates_executors
            && let Some(failure) = executor::names_the_writer(&object)
        {
            return unreadable(failure);
        }
        for review in account.questions(&object, entry.owner.holding) {
            let attributes = review.resource_attributes.as_ref();
            let verb = attributes
                .and_then(|it| it.verb.clone())
                .unwrap_or_default();
            let question = Question::new(&account, &object, &verb);
            if !self.is_allowed(cluster, question, review, since).await? {
                let question = Question::new(&account, &object, "get");
                let review = account.question(&object, "get");
                let may_read = self.is_allowed(cluster, question, review, since).await?;
                let failure = account.refused(&object, &verb);
                return Ok(Some(Denied { failure, may_read }));
            }
        }
        if executor::may_escalate(&object) {
            let failure = escalates(cluster, entry, &account, &object).await?;
            return Ok(failure.map(|failure| Denied {
                failure,
                may_read: true,
            }));
        }
        Ok(None)
    }

    /// Decides about a write that the agent would make with its own identity. An object whose kind depends on who writes it is written by
    /// the executor first, as a dry run of the very request. A deletion, also one to create the object anew, takes the verb `delete`.
    ///
    /// # Errors
    /// The managed cluster does not respond.
    pub(crate) async fn rule<R>(
        &self,
        cluster: &Writer,
        entry: &Entry,
        step: &Step<R>,
        since: Option<Instant>,
    ) -> Result<Ruling, CallError> {
        let account = match executor::account(entry.executor()) {
            Ok(None) => return Ok(Ruling::Send),
            Ok(Some(account)) => account,
            Err(failure) => return Ok(Ruling::Refused(failure)),
        };
        let Ok(object) = entry.prescribed() else {
            return Ok(Ruling::Send);
        };
        if matches!(step, Step::Delete { .. }) {
            let question = Question::new(&account, &object, "delete");
            let review = account.question(&object, "delete");
            return Ok(
                match self.is_allowed(cluster, question, review, since).await? {
                    true => Ruling::Send,
                    false => Ruling::Refused(account.refused(&object, "delete")),
                },
            );
        }
        if !executor::depends_on_writer(&object) {
            return Ok(Ruling::Send);
        }
        let Ok(user) = HeaderValue::try_from(account.user()) else {
            return Ok(Ruling::Refused(
                account.unchecked(&object, "the name is invalid"),
            ));
        };
        let response = call::rehearse(cluster, entry.path(), step, &user).await?;
        Ok(match response {
            None | Some(Response::Written(_)) => Ruling::Send,
            Some(Response::Refused(refusal)) => match refusal.code {
                403 => Ruling::Refused(account.forbidden(&object, &refusal.message)),
                // A conflict, or an object that nobody could write so.
                409 | 422 => Ruling::Answered(Response::Refused(refusal)),
                _ => Ruling::Refused(account.unchecked(&object, &refusal.message)),
            },
            Some(other) => Ruling::Answered(other),
        })
    }

    /// Asks the API server, unless the answer is known.
    async fn is_allowed(
        &self,
        cluster: &Writer,
        question: Question,
        review: SubjectAccessReviewSpec,
        since: Option<Instant>,
    ) -> Result<bool, CallError> {
        if let Some(allowed) = self.known(&question, since) {
            return Ok(allowed);
        }
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": review,
        });
        let call = Call::post(REVIEWS, body.to_string());
        let sent = now().instant;
        let review: Value = cluster.send(call).await?.json()?;
        let allowed = review["status"]["allowed"] == true;
        self.learn(question, allowed, sent);
        Ok(allowed)
    }

    fn known(&self, question: &Question, since: Option<Instant>) -> Option<bool> {
        let all = self.lock();
        let (allowed, sent) = all.get(question)?;
        let is_valid = now().instant.saturating_duration_since(*sent) < VALID;
        let is_new_enough = since.is_none_or(|since| *sent >= since);
        (is_valid && is_new_enough).then_some(*allowed)
    }

    fn learn(&self, question: Question, allowed: bool, sent: Instant) {
        let now = now().instant;
        let mut all = self.lock();
        if all.len() >= MOST {
            all.retain(|_, (_, sent)| now.saturating_duration_since(*sent) < VALID);
        }
        let is_known = all.contains_key(&question);
        if is_known || all.len() < MOST {
            all.insert(question, (allowed, sent));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Question, (bool, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The user that writes the objects of a ManifestWork, if the agent impersonates executors. `None`: the agent itself.
///
/// # Errors
/// The name of the executor is invalid. Its objects are not written.
pub(crate) fn writer(entry: &Entry, impersonates: bool) -> Result<Option<HeaderValue>, Failure> {
    if !impersonates {
        return Ok(None);
    }
    let account = executor::account(entry.executor())?;
    let user = account.map(|it| HeaderValue::try_from(it.user()));
    user.transpose().map_err(|_| Failure {
        reason: berth_api::conditions::manifest::APPLIED_FAILED,
        message: "Failed to apply manifest: the name of the executor is invalid".to_owned(),
        retry: Retry::OnChange,
    })
}

/// Creates an RBAC object as the account, with dry-run: the API server refuses it if it grants more than the account has. Only a success and
/// "already exists", which the API server says after this check, show that it does not. A binding whose role does not exist is refused, too:
/// the role could grant anything later.
async fn escalates(
    cluster: &Writer,
    entry: &Entry,
    account: &Account,
    object: &Mapped,
) -> Result<Option<Failure>, CallError> {
    let owner = berth_work_core::Owner {
        holding: Holding::Orphaned,
        ..berth_work_core::Owner::clone(&entry.owner)
    };
    let machine = Applying::new(object.clone(), None, owner, Settled::default(), None);
    let Ok(mut machine) = machine else {
        // An invalid manifest fails when it is applied.
        return Ok(None);
    };
    let Step::Create(body) = machine.next(Some(Response::NotFound)) else {
        return Ok(Some(account.unchecked(object, "it cannot be created")));
    };
    let Ok(user) = HeaderValue::from_str(&account.user()) else {
        return Ok(Some(account.unchecked(object, "the name is invalid")));
    };
    let call = create_call(entry.path(), &body, "&dryRun=All").header(IMPERSONATE_USER, user);
    let error = match cluster.send(call).await {
        Ok(_) => return Ok(None),
        Err(error) => error,
    };
    let Some(refusal) = error.refusal().filter(|_| !error.may_pass()) else {
        return Err(error);
    };
    Ok(match (error.code(), refusal.reason.as_str()) {
        (409, "AlreadyExists") => None,
        (403, _) => Some(account.escalates(object, &refusal.message)),
        _ => Some(account.unchecked(object, &refusal.message)),
    })
}

// === impl Question ===

impl Question {
    fn new(account: &Account, object: &Mapped, verb: &str) -> Self {
        let prescribed = &object.prescribed;
        Self {
            account: account.clone(),
            verb: verb.to_owned(),
            path: format!(
                "{}/{}/{}/{}",
                prescribed.api_version, object.resource, object.namespace, prescribed.name
            ),
        }
    }
}
