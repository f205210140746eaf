//! The gate: makes a verdict from a review.

use std::sync::Arc;
use std::time::Duration;

use berth_hub::Backoff;
use berth_rules::{
    Answer, Answers, Change, Decision, MutateCluster, Question, Rules, Settings, ValidateBinding,
    ValidateCluster, ValidateClusterAddOn, ValidateClusterSet, ValidateDeploymentConfig,
    ValidateManagementAddOn, ValidatePlacement, ValidateReplicaSet, ValidateRequest,
    ValidateTemplate, ValidateWork,
};
use futures::future::{BoxFuture, join_all};
use jiff::Timestamp;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::request::{self, NotReceived, Received};
use crate::verdict::{Evidence, Verdict};
use crate::{Answerer, Finding, Requester, Webhook};

/// The longest wait for one answer before the gate is ready.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Decides reviews.
#[derive(Clone, Debug)]
pub struct Gate {
    answerer: Arc<dyn Answerer>,
    settings: Settings,
}

impl Gate {
    /// Makes a gate with this answerer.
    pub fn new(answerer: Arc<dyn Answerer>, settings: impl Into<Settings>) -> Self {
        Self {
            answerer,
            settings: settings.into(),
        }
    }

    /// Waits without a limit until the answerer has answered a question. Failures are logged, with their remedy.
    pub async fn first_answer(&self) {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
        loop {
            let error = match timeout(PROBE_TIMEOUT, self.answerer.probe()).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(_) => no_answer_within(PROBE_TIMEOUT),
            };
            tracing::warn!(%error, "not ready: no question can be answered");
            sleep(backoff.pause()).await;
        }
    }

    /// Decides a review. `now` becomes the time of new taints.
    ///
    /// # Guarantees
    /// It always returns a verdict, at most milliseconds after the deadline. Questions without an answer by then count as
    /// unanswered; answers that have arrived still count. A change that raises no question is decided without I/O. Dropping
    /// the future does not cancel calls that other reviews wait for.
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
            Webhook::MutateCluster => context.examine::<MutateCluster>(body),
            Webhook::ValidateCluster => context.examine::<ValidateCluster>(body),
            Webhook::ValidateClusterSet => context.examine::<ValidateClusterSet>(body),
            Webhook::ValidateBinding => context.examine::<ValidateBinding>(body),
            Webhook::ValidateRequest => context.examine::<ValidateRequest>(body),
            Webhook::ValidatePlacement => context.examine::<ValidatePlacement>(body),
            Webhook::ValidateWork => context.examine::<ValidateWork>(body),
            Webhook::ValidateReplicaSet => context.examine::<ValidateReplicaSet>(body),
            Webhook::ValidateTemplate => context.examine::<ValidateTemplate>(body),
            Webhook::ValidateDeploymentConfig => context.examine::<ValidateDeploymentConfig>(body),
            Webhook::ValidateManagementAddOn => context.examine::<ValidateManagementAddOn>(body),
            Webhook::ValidateClusterAddOn => context.examine::<ValidateClusterAddOn>(body),
        };
        match examined {
            Examined::Decided(verdict) => verdict,
            Examined::Asking(verdict) => verdict.await,
        }
    }

    /// Asks all questions at once, each until the deadline.
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

/// The state of a review after the part that does not wait.
#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the frequent one"
)]
enum Examined<'a> {
    /// Most reviews raise no question.
    Decided(Verdict<'a>),
    /// The others wait for answers. Boxed, so that the frequent variant stays small.
    Asking(BoxFuture<'a, Verdict<'a>>),
}

/// The context of a review.
#[derive(Clone, Copy)]
struct Context<'a> {
    gate: &'a Gate,
    webhook: Webhook,
    now: Timestamp,
    deadline: Instant,
}

impl<'a> Context<'a> {
    fn examine<R: Rules + 'static>(self, body: &'a [u8]) -> Examined<'a> {
        let Self {
            gate,
            webhook,
            now,
            deadline,
        } = self;
        let Received {
            header,
            subject,
            user,
            objects,
        } = match request::receive::<R::Object<'a>>(body, webhook) {
            Ok(received) => received,
            Err(NotReceived { header, refusal }) => {
                return Examined::Decided(Verdict::refused(header, None, refusal));
            }
        };
        let Some((new, old)) = objects else {
            return Examined::Decided(Verdict::decided(header, subject, Decision::allowed()));
        };
        let change = subject.change(*new, old.map(|it| *it));
        let mut case = R::examine(&change, &gate.settings, now);
        let questions = case.take_questions();
        if questions.is_empty() {
            let decision = case.decide(&change, &gate.settings, Answers::default());
            return Examined::Decided(Verdict::decided(header, subject, decision));
        }
        let requester = match user.requester() {
            Ok(requester) => requester,
            Err(refusal) => {
                return Examined::Decided(Verdict::refused(header, Some(subject), refusal));
            }
        };
        let Change { new, old, .. } = change;
        Examined::Asking(Box::pin(async move {
            let (answers, evidence) = gate.answers(&requester, questions, deadline).await;
            let change = subject.change(new, old);
            let decision = case.decide(&change, &gate.settings, Answers::new(&answers));
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
