//! The service accounts of gate and controller, and their rights.

use std::cell::RefCell;

use futures::{StreamExt, stream};
use k8s_openapi::api::authorization::v1::{SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use serde_json::json;

use super::{Named, read};
use crate::doctor::facts::{Fact, Rights, Unread};
use crate::doctor::installation;
use crate::doctor::objects::Deployment;
use crate::doctor::rights::{self, Right};
use crate::hub::{DryRun, Filter, HubConnection};

/// Limit on concurrent SubjectAccessReviews.
const AT_ONCE: usize = 8;

const REVIEWS: Named = ("subjectaccessreviews", "authorization.k8s.io");

/// The Deployments, and the rights of their service accounts.
pub(super) struct Accounts {
    pub(super) deployments: Fact<Vec<Deployment>>,
    pub(super) gate: Fact<Option<Rights>>,
    pub(super) controller: Fact<Option<Rights>>,
}

/// Reads the Deployments and checks the rights.
pub(super) async fn deployments(hub: &HubConnection, namespace: &str) -> Accounts {
    let within = Some(namespace);
    let reading = async {
        let items = hub.list::<Deployment>(within, &Filter::default()).await?;
        Ok::<Vec<Deployment>, _>(items.into_iter().map(|item| item.object).collect())
    };
    let deployments = read("list", ("deployments", "apps"), within, reading).await;
    let named = |name: &str| {
        let all = deployments.as_ref().ok()?;
        all.iter()
            .find(|it| it.metadata.name.as_deref() == Some(name))
    };
    let webhook = named(installation::WEBHOOK);
    let account = match (webhook, &deployments) {
        (Some(deployment), _) => Ok(Some(installation::account(deployment))),
        (None, Err(unread)) => Err(unread.clone()),
        // A gate outside of the hub may use the account of the manifests. Otherwise its account is unknown.
        (None, Ok(_)) => {
            let getting = hub.get_value::<ServiceAccount>(within, installation::ACCOUNT);
            let account = read("get", ("serviceaccounts", ""), within, getting).await;
            account.map(|account| account.map(|_| installation::ACCOUNT.to_owned()))
        }
    };
    // If OCM's operator installs the controller, it also grants its rights.
    let controller = installation::controller(named);
    let controllers_account = match (controller, webhook, &deployments) {
        (Some(deployment), ..) => Ok(Some(installation::account(deployment))),
        (None, Some(_), _) => Ok(None),
        (None, None, Err(unread)) => Err(unread.clone()),
        // As above. One process for both has only the gate's account.
        (None, None, Ok(_)) => {
            let own = installation::CONTROLLER_ACCOUNT;
            let getting = hub.get_value::<ServiceAccount>(within, own);
            let found = read("get", ("serviceaccounts", ""), within, getting).await;
            match found {
                Ok(Some(_)) => Ok(Some(own.to_owned())),
                Ok(None) => account.clone(),
                Err(unread) => Err(unread),
            }
        }
    };
    let rights = async |account: &Fact<Option<String>>, of: Vec<Right>| match account {
        Ok(Some(account)) => Ok(Some(may(hub, namespace, account, of).await)),
        Ok(None) => Ok(None),
        Err(unread) => Err(unread.clone()),
    };
    let mut of_the_controller = rights::of_the_controller(namespace);
    if controller.is_some_and(installation::accepts_by_itself) {
        of_the_controller.extend(rights::of_auto_approval());
    }
    let (gate, controller) = futures::join!(
        rights(&account, rights::of_the_gate()),
        rights(&controllers_account, of_the_controller),
    );
    Accounts {
        deployments,
        gate,
        controller,
    }
}

/// Asks which of these rights a service account has.
async fn may(hub: &HubConnection, namespace: &str, account: &str, rights: Vec<Right>) -> Rights {
    let user = format!("system:serviceaccount:{namespace}:{account}");
    let groups = [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
        "system:authenticated".to_owned(),
    ];
    let questions = rights.into_iter().map(|right| {
        let question = right.question(&user, groups.to_vec());
        (right, question)
    });
    let asked = ask_all(hub, questions).await;
    Rights {
        account: user,
        asked,
    }
}

/// Asks a few questions at a time. After the first error no more are asked, since they would fail in the same way.
pub(super) async fn ask_all<T>(
    hub: &HubConnection,
    questions: impl IntoIterator<Item = (T, SubjectAccessReviewSpec)>,
) -> Vec<(T, Fact<bool>)> {
    let trouble = RefCell::new(None::<Unread>);
    let asking = questions.into_iter().map(|(about, question)| {
        let trouble = &trouble;
        async move {
            let before = trouble.borrow().clone();
            let answer = match before {
                Some(unread) => Err(unread),
                None => allowed(hub, question).await,
            };
            if let Err(unread) = &answer {
                trouble.replace(Some(unread.clone()));
            }
            (about, answer)
        }
    });
    stream::iter(asking).buffered(AT_ONCE).collect().await
}

async fn allowed(hub: &HubConnection, question: SubjectAccessReviewSpec) -> Fact<bool> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": question,
    });
    let asking = hub.create::<SubjectAccessReview>(None, &review, DryRun::None);
    let answer = read("create", REVIEWS, None, asking).await?;
    Ok(answer["status"]["allowed"] == true)
}
