//! The gate: a review in, a verdict out.

use std::sync::Arc;
use std::time::Duration;

use berth_rules::display::Quoted;
use berth_rules::object::{Binding, CertificateRequest, ClusterSet, Object};
use berth_rules::{
    Answer, Answers, Change, Decision, Question, Settings, binding, certificate_request, cluster,
    cluster_set,
};
use futures::future::{BoxFuture, join_all};
use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};

use crate::answer::{Evidence, Refusal, Subject, Verdict};
use crate::envelope::{self, Request};
use crate::user::UserInfo;
use crate::{Answerer, Finding, Requester, Webhook};

/// Decides reviews.
#[derive(Clone, Debug)]
pub struct Gate {
    answerer: Arc<dyn Answerer>,
    settings: Settings,
}

impl Gate {
    /// A gate whose questions this answerer answers.
    pub fn new(answerer: Arc<dyn Answerer>, settings: impl Into<Settings>) -> Self {
        Self {
            answerer,
            settings: settings.into(),
        }
    }

    /// Who answers its questions.
    pub fn answerer(&self) -> &dyn Answerer {
        &*self.answerer
    }

    /// Decides a review by its bytes. `now` is what new taints get for their time.
    ///
    /// # Guarantees
    /// There is always a verdict, before the deadline or within milliseconds of it: questions without an answer by then
    /// count as unanswered, and what has been answered keeps its weight. A change that raises no question is decided
    /// without any I/O. Dropping the future abandons nothing that others wait for.
    pub async fn examine<'a>(
        &'a self,
        webhook: Webhook,
        body: &'a [u8],
        now: Timestamp,
        deadline: Instant,
    ) -> Verdict<'a> {
        let context = Context {
            gate: self,
            webhook,
            now,
            deadline,
        };
        let examined = match webhook {
            Webhook::MutateCluster => context.examine(
                body,
                |change, settings| cluster::mutate::questions(change, settings.gates),
                |change, settings, answers, now| {
                    cluster::mutate::decide(change, settings.gates, answers, now)
                },
            ),
            Webhook::ValidateCluster => context.examine(
                body,
                cluster::validate::questions,
                |change, settings, answers, _| cluster::validate::decide(change, settings, answers),
            ),
            Webhook::ValidateClusterSet => context.examine(
                body,
                |change: &Change<'_, ClusterSet<'_>>, settings| {
                    cluster_set::questions(change, settings.gates)
                },
                |change, settings, answers, _| cluster_set::decide(change, settings.gates, answers),
            ),
            Webhook::ValidateBinding => context.examine(
                body,
                |change: &Change<'_, Binding<'_>>, _| binding::questions(change),
                |change, _, answers, _| binding::decide(change, answers),
            ),
            Webhook::ValidateRequest => context.examine(
                body,
                |change: &Change<'_, CertificateRequest<'_>>, _| {
                    certificate_request::questions(change)
                },
                |change, _, answers, _| certificate_request::decide(change, answers),
            ),
        };
        match examined {
            Examined::Decided(verdict) => verdict,
            Examined::Asking(verdict) => verdict.await,
        }
    }

    /// All questions at once, each until the deadline.
    async fn answers(
        &self,
        requester: &Requester,
        questions: Vec<Question>,
        deadline: Instant,
    ) -> (Vec<(Question, Answer)>, Vec<Evidence>) {
        let asked = Instant::now();
        let budget = deadline.saturating_duration_since(asked);
        let answers = questions.into_iter().map(async |question| {
            let finding = timeout_at(deadline, self.answerer.answer(requester, &question)).await;
            let Finding { answer, because } =
                finding.unwrap_or_else(|_| Finding::unknown(no_answer_within(budget)));
            (
                (question, answer),
                Evidence {
                    because,
                    took: asked.elapsed(),
                },
            )
        });
        join_all(answers).await.into_iter().unzip()
    }
}

/// How far a review has come without waiting for anybody.
#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the frequent one"
)]
enum Examined<'a> {
    /// Most reviews raise no question.
    Decided(Verdict<'a>),
    /// The others wait for answers. Apart, so that those that do not wait carry no room for it.
    Asking(BoxFuture<'a, Verdict<'a>>),
}

/// What a review is decided in.
#[derive(Clone, Copy)]
struct Context<'a> {
    gate: &'a Gate,
    webhook: Webhook,
    now: Timestamp,
    deadline: Instant,
}

impl<'a> Context<'a> {
    fn examine<O: Object<'a> + Send + Sync + 'a>(
        self,
        body: &'a [u8],
        questions: fn(&Change<'_, O>, &Settings) -> Vec<Question>,
        decide: fn(&Change<'_, O>, &Settings, Answers<'_>, Timestamp) -> Decision,
    ) -> Examined<'a> {
        let refused = |header, subject, refusal| {
            Examined::Decided(Verdict::refused(header, subject, refusal))
        };
        let (header, request) = match envelope::decode::<O>(body, self.webhook) {
            Ok(decoded) => decoded,
            Err((header, refusal)) => return refused(header, None, refusal),
        };
        let (subject, user_info, objects) = match open(self.webhook, request) {
            Ok(opened) => opened,
            Err(refusal) => return refused(header, None, refusal),
        };
        let Some((new, old)) = objects else {
            return Examined::Decided(Verdict::decided(header, subject, Decision::allowed()));
        };
        let Self {
            gate,
            now,
            deadline,
            ..
        } = self;
        let change = change(&subject, new, old);
        let questions = questions(&change, &gate.settings);
        if questions.is_empty() {
            let decision = decide(&change, &gate.settings, Answers::default(), now);
            return Examined::Decided(Verdict::decided(header, subject, decision));
        }
        let requester = match user_info.requester() {
            Ok(requester) => requester,
            Err(refusal) => return refused(header, Some(subject), refusal),
        };
        let Change { new, old, .. } = change;
        Examined::Asking(Box::pin(async move {
            let (answers, evidence) = gate.answers(&requester, questions, deadline).await;
            let change = self::change(&subject, new, old);
            let decision = decide(&change, &gate.settings, Answers::new(&answers), now);
            Verdict {
                answers,
                evidence,
                ..Verdict::decided(header, subject, decision)
            }
        }))
    }
}

fn no_answer_within(budget: Duration) -> String {
    format!("no answer from the hub within {:.1}s", budget.as_secs_f64())
}

fn change<'c, O>(subject: &'c Subject<'_>, new: O, old: Option<O>) -> Change<'c, O> {
    let (name, namespace, user) = (
        subject.name.as_str(),
        subject.namespace.as_str(),
        subject.user.as_str(),
    );
    Change {
        name,
        namespace,
        user,
        new,
        old,
    }
}

/// The objects of a change, new and stored; none for operations that are not guarded.
type Objects<O> = Option<(O, Option<O>)>;

/// Takes a request apart: who wants to do what, on whose behalf, and the objects.
fn open<'a, O: Object<'a>>(
    webhook: Webhook,
    request: Request<'a, O>,
) -> Result<(Subject<'a>, UserInfo<'a>, Objects<O>), Refusal> {
    let name = request.object_name()?;
    let Request {
        operation,
        namespace,
        user_info,
        object,
        old_object,
        dry_run,
        ..
    } = request;
    let present = |field: &str, object: Option<O>| {
        object.ok_or_else(|| {
            Refusal::malformed(format!(
                "request.{field} is missing, {} needs it",
                operation.as_str()
            ))
        })
    };
    let objects = match operation.as_str() {
        "CREATE" => Some((present("object", object)?, None)),
        "UPDATE" => Some((
            present("object", object)?,
            Some(present("oldObject", old_object)?),
        )),
        "DELETE" => None,
        other => {
            return Err(Refusal::malformed(format!(
                "unknown operation {}",
                Quoted(other)
            )));
        }
    };
    let (user, namespace) = (user_info.username.clone(), namespace.unwrap_or_default());
    if webhook == Webhook::ValidateBinding && namespace.is_empty() {
        // Nobody's namespace would pass for one that is no cluster's.
        return Err(Refusal::malformed("request.namespace is missing"));
    }
    let dry_run = dry_run.unwrap_or_default();
    Ok((
        Subject {
            webhook,
            operation,
            name,
            namespace,
            user,
            dry_run,
        },
        user_info,
        objects,
    ))
}
