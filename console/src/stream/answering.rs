//! Screens with one answer, which is made anew when something that it depends on has changed.

use std::future::ready;

use futures::future::{BoxFuture, select_all};
use serde::Serialize;
use tokio::sync::watch;

use super::{Screen, Told, hub_event};
use crate::answers::{Connection, ErrorAnswer, HubAnswer};

/// The event `answer`, `None` if there is none yet; or why there is no answer, for the event `failure`.
pub(crate) type Answer = Result<Option<Told>, ErrorAnswer>;

/// A screen with one answer.
pub(crate) trait Answering: Send + 'static {
    /// Waits until the answer may be another one. Nothing is lost when it is dropped.
    fn changed(&mut self) -> BoxFuture<'_, ()>;

    /// Returns how what the screen shows stands with the hub.
    fn hub(&self) -> HubAnswer;

    /// Makes the answer. It is not called while the first list is under way.
    fn answer(&mut self) -> BoxFuture<'_, Answer>;
}

/// Tells the answers of a screen, each once. It is compiled once for all screens.
pub(crate) struct Answers {
    screen: Box<dyn Answering>,
    hub: Option<HubAnswer>,
    told: Option<Told>,
}

/// Changes of several kinds.
pub(crate) struct Changes(Vec<watch::Receiver<u64>>);

/// An answer of a screen.
pub(super) fn answered(answer: Option<&impl Serialize>) -> Answer {
    Ok(answer.map(|it| Told::new("answer", it)))
}

/// An answer that is there at once.
pub(super) fn at_once(answer: Answer) -> BoxFuture<'static, Answer> {
    Box::pin(ready(answer))
}

/// Returns how a screen of several kinds stands with the hub: as one that is still listed, if there is one; else as the first.
pub(super) fn loading_or_first<const N: usize>(
    first: HubAnswer,
    others: [HubAnswer; N],
) -> HubAnswer {
    let loading = others
        .into_iter()
        .find(|it| it.state == Connection::Loading);
    loading.unwrap_or(first)
}

// === impl Answers ===

impl Answers {
    pub(crate) fn new(screen: impl Answering) -> Self {
        Self {
            screen: Box::new(screen),
            hub: None,
            told: None,
        }
    }

    async fn news(&mut self) -> Vec<Told> {
        let hub = self.screen.hub();
        let mut told = Vec::new();
        told.extend(hub_event(&mut self.hub, &hub));
        // While the hub is away, the last answer stays.
        let stays = hub.state == Connection::Away && self.told.is_some();
        if stays || hub.state == Connection::Loading {
            return told;
        }
        let answer = match self.screen.answer().await {
            Ok(answer) => answer,
            Err(failure) => Some(Told::new("failure", &failure)),
        };
        if answer.is_some() && self.told != answer {
            told.extend(answer.clone());
            self.told = answer;
        }
        told
    }
}

impl Screen for Answers {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        self.screen.changed()
    }

    fn look(&mut self) -> BoxFuture<'_, Vec<Told>> {
        Box::pin(self.news())
    }
}

// === impl Changes ===

impl Changes {
    /// Changes from now on.
    pub(crate) fn of(kinds: impl IntoIterator<Item = watch::Receiver<u64>>) -> Self {
        Self(kinds.into_iter().collect())
    }

    /// Waits for a change of one of the kinds since the last time.
    pub(crate) async fn next(&mut self) {
        let each = self.0.iter_mut().map(|it| Box::pin(it.changed()));
        // The senders live as long as the kinds are open.
        let _ = select_all(each).await;
        self.seen();
    }

    /// All changes until now are seen.
    pub(crate) fn seen(&mut self) {
        for kind in &mut self.0 {
            kind.mark_unchanged();
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    struct Numbers {
        state: Connection,
        number: Option<u32>,
    }

    impl Answering for Numbers {
        fn changed(&mut self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }

        fn hub(&self) -> HubAnswer {
            HubAnswer {
                state: self.state,
                since: Timestamp::UNIX_EPOCH,
                message: None,
                remedy: None,
                missing: None,
            }
        }

        fn answer(&mut self) -> BoxFuture<'_, Answer> {
            at_once(answered(self.number.as_ref()))
        }
    }

    #[tokio::test]
    async fn an_answer_is_told_once_and_stays_while_the_hub_is_away() {
        let mut answers = Answers::new(Numbers {
            state: Connection::Loading,
            number: None,
        });
        for (state, number, told) in [
            (Connection::Loading, Some(1), vec!["hub"]),
            (Connection::Connected, None, vec!["hub"]),
            (Connection::Connected, Some(1), vec!["answer"]),
            (Connection::Connected, Some(1), vec![]),
            (Connection::Connected, Some(2), vec!["answer"]),
            (Connection::Away, Some(3), vec!["hub"]),
            (Connection::Connected, Some(3), vec!["hub", "answer"]),
        ] {
            answers.screen = Box::new(Numbers { state, number });
            let names: Vec<_> = answers.look().await.iter().map(|it| it.name).collect();
            assert_eq!(names, told, "{state:?} {number:?}");
        }
    }

    #[tokio::test]
    async fn a_change_of_any_kind_is_seen_once() {
        let (one, two) = (watch::Sender::new(0), watch::Sender::new(0));
        let mut changes = Changes::of([one.subscribe(), two.subscribe()]);
        one.send_modify(|it| *it += 1);
        two.send_modify(|it| *it += 1);
        changes.next().await;
        let again = tokio::time::timeout(std::time::Duration::ZERO, changes.next()).await;
        assert!(again.is_err(), "both were seen");
        two.send_modify(|it| *it += 1);
        changes.next().await;
    }
}
