//! The workers of a run: clients or a command line, whether they are installed, what they may do, and whether
//! they can be held to a bound of money.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::event::Purpose;
use unstuck_core::workflow::{Budget, Capability, StepKind, Worker, Workflow};
use unstuck_store::state_dir::StateDir;
use unstuck_workers::Clients;
use unstuck_workers::Description;
use unstuck_workers::launch::{self, ARGUMENT_BYTES_MAX, AccessLevel, PromptChannel};

use crate::client_source::{ClientSources, is_built_in};
use crate::error::{AppError, Result};
use crate::person::Person;
use crate::{sandbox, text, trust};

/// The clients that are taken without being named, if they are installed, the first first.
const TAKEN: [&str; 4] = ["claude", "codex", "opencode", "gemini"];

/// Returns the clients that are known in a workspace.
pub fn load_clients(workspace: &Path) -> Result<Clients> {
    unstuck_workers::known_clients(workspace).map_err(|rejected| {
        AppError::rejected("", rejected).hint("mend the file; its format is in docs/workers.md")
    })
}

/// Returns the worker that a command line names.
pub fn parse_worker(with: &str, instructions: &str, known: &Clients) -> Result<Worker> {
    unstuck_workers::parse_worker(with, instructions, known)
        .map_err(|why| AppError::usage(why).hint("unstuck workers shows those that are known"))
}

/// Returns the first client that is installed, of those that are taken without being named.
pub fn first_installed(known: &Clients) -> Option<&Arc<Description>> {
    TAKEN.iter().filter_map(|name| known.get(*name)).find(|client| find_program(&client.program).is_some())
}

/// Returns the first client that is installed and has not worked in a run.
pub fn unused_client(than: &Workflow) -> Option<&'static str> {
    let has_worked = |name: &str| {
        let mut workers =
            than.steps.iter().filter_map(|step| step.worker(Purpose::Work)).flat_map(Worker::chain);
        workers.any(|worker| worker.name() == name)
    };
    let is_here = |name: &str| {
        unstuck_workers::all().any(|client| client.name == name && find_program(&client.program).is_some())
    };
    TAKEN.into_iter().find(|name| !has_worked(name) && is_here(name))
}

/// Returns the description of the client of a worker. One that cannot be read was written by another version: the runner
/// says so instead of starting it.
pub fn description_of(worker: &Worker) -> Option<Description> {
    Description::from_client(worker.client.as_deref()?).ok() // told by the runner
}

/// Finds a program as the system does.
pub fn find_program(program: &str) -> Option<PathBuf> {
    let mut name = PathBuf::from(program);
    if name.extension().is_none() {
        name.set_extension(std::env::consts::EXE_EXTENSION);
    }
    if name.components().count() > 1 {
        return name.is_file().then_some(name);
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(&name)).find(|path| path.is_file())
}

/// Says which instructions are too long for the client that is to take them as an argument.
pub fn oversized_prompts(workflow: &Workflow) -> Vec<String> {
    let all = workflow.all_workers().into_iter();
    all.filter_map(|(step, worker)| {
        let bytes = worker.instructions.len();
        let is_too_long = bytes > ARGUMENT_BYTES_MAX
            && description_of(worker).is_some_and(|client| client.launch.prompt == PromptChannel::Argument);
        is_too_long.then(|| format!("step {}: {}", step.id, launch::LaunchError::PromptTooLong(bytes)))
    })
    .collect()
}

/// Says which clients of a workflow are not here. One that is wrapped may be in the container.
pub fn missing(workflow: &Workflow) -> Vec<String> {
    let all = workflow.all_workers().into_iter();
    all.filter_map(|(step, worker)| {
        if !worker.can_be_started() {
            let kind = worker.kind.as_str();
            return Some(format!("step {}: a {kind} worker without a client cannot be started", step.id));
        }
        let client = description_of(worker).filter(|_| worker.wrap.is_none())?;
        let gone = find_program(&client.program).is_none();
        gone.then(|| {
            format!(
                "step {}: {} is not installed: there is no program {}",
                step.id, client.title, client.program
            )
        })
    })
    .collect()
}

/// Refuses a workflow that cannot be held to its bounds. `prices` is the file of its prices.
pub fn check_budget(workflow: &Workflow, prices: Option<&Path>) -> Result<()> {
    let why = |words: &str, who: &[String]| {
        format!("the run cannot be held to its bound: {words}: {}", who.join(", "))
    };
    let untold = among_paid(workflow, |worker, budget| {
        let tokens = worker.client.as_deref().is_some_and(|client| client.tells_tokens);
        let money = tells_cost(worker) || tokens && workflow.prices.is_some();
        let told = (budget.micro_usd.is_none() || money) && (budget.tokens.is_none() || tokens);
        (!told).then(|| name(worker))
    });
    if !untold.is_empty() {
        return Err(AppError::usage(why("these do not tell what they spend", &untold))
            .hint("--accept-unknown-cost counts what is told; or give the prices of tokens: docs/money.md"));
    }
    let Some((known, file)) = workflow.prices.as_ref().zip(prices) else { return Ok(()) };
    let unpriced = among_paid(workflow, |worker, budget| {
        let model = worker.model.as_ref().filter(|_| budget.micro_usd.is_some() && !tells_cost(worker))?;
        (!known.has_price(model)).then(|| format!("{model} ({})", name(worker)))
    });
    if unpriced.is_empty() {
        return Ok(());
    }
    let file = file.display();
    Err(AppError::usage(why(&format!("{file} has no price for these models"), &unpriced)).hint(format!(
        "add a price for it to {file}: docs/money.md; or --accept-unknown-cost counts what is told"
    )))
}

fn tells_cost(worker: &Worker) -> bool {
    worker.client.as_deref().is_some_and(|client| client.tells_cost)
}

/// Asks something of all who are paid, with the bounds that hold for them, and returns what there is to say, with the
/// step that it is about.
fn among_paid(workflow: &Workflow, say: impl Fn(&Worker, Budget) -> Option<String>) -> Vec<String> {
    let mut all = vec![workflow];
    let mut said = Vec::new();
    while let Some(workflow) = all.pop() {
        let paid = workflow.all_workers().into_iter().filter(|(_, worker)| worker.is_paid());
        said.extend(paid.filter_map(|(step, worker)| {
            Some(format!("step {}: {}", step.id, say(worker, workflow.budget)?))
        }));
        all.extend(workflow.steps.iter().filter_map(|step| match &step.work {
            StepKind::Subworkflow(child) => Some(&*child.workflow),
            StepKind::Worker(_) => None,
        }));
    }
    said.sort_unstable();
    said.dedup();
    said
}

/// Returns the name of a worker for people, in 40 columns at most.
pub fn name(worker: &Worker) -> String {
    text::clip(worker.name(), NAME_MAX)
}

/// Says what the clients of a workflow may do, in the order of their names. Two may have the same name, in a workflow and in
/// one that it calls.
pub fn permissions(workflow: &Workflow) -> Vec<(Description, String)> {
    let everybody = workflow
        .all_workers()
        .into_iter()
        .filter_map(|(_, worker)| Some((description_of(worker)?, &worker.capabilities)));
    let mut most: Vec<(Description, (AccessLevel, bool), String)> = Vec::new();
    for (client, capabilities) in everybody {
        // A client that has this access in one step may be asked to use it in every step.
        let may =
            (AccessLevel::from_capabilities(capabilities), capabilities.contains(&Capability::RunTests));
        let known = most.iter().position(|(known, ..)| *known == client);
        if known.is_none_or(|at| may > most[at].1) {
            if let Some(at) = known {
                most.remove(at);
            }
            let words = access_text(&client, capabilities);
            most.push((client, may, words));
        }
    }
    most.sort_by(|(a, ..), (b, ..)| a.name.cmp(&b.name));
    most.into_iter().map(|(client, _, words)| (client, words)).collect()
}

/// Returns true if nothing known keeps a client from running any command. What a user's file says about a client
/// is not known.
fn is_free(client: &Description, access: AccessLevel) -> bool {
    access == AccessLevel::All || client.launch.grant(access).any_command || !is_built_in(client)
}

/// Says what a client may do; one whose description says nothing of it may do anything.
fn access_text(client: &Description, capabilities: &[Capability]) -> String {
    let words = client.launch.words(capabilities);
    if words.is_empty() && !is_built_in(client) {
        return "can do anything that you can: its description does not say what it may do".to_owned();
    }
    words
}

/// Asks a person, once in a project, whether a client may do anything. `workspace` and `file` are where its clients may be
/// described: the workspace, and the file of the workflow.
///
/// # Errors
///
/// The person does not agree, or cannot be asked.
pub fn ask_trust(
    workflow: &Workflow,
    file: Option<&str>,
    workspace: &Path,
    project: Option<&StateDir>,
    person: &dyn Person,
) -> Result<()> {
    let everybody = workflow.all_workers().into_iter();
    let bare = everybody.filter_map(|(_, worker)| {
        let is_contained = worker.wrap.as_deref().is_some_and(sandbox::is_sandbox_wrapper);
        description_of(worker).filter(|_| !is_contained).map(|client| (client, &worker.capabilities))
    });
    let origins = ClientSources::read(workspace);
    let mut asked: Vec<Description> = Vec::new();
    for (client, capabilities) in bare {
        let (words, access) =
            (access_text(&client, capabilities), AccessLevel::from_capabilities(capabilities));
        let is_known =
            asked.contains(&client) || project.is_some_and(|project| trust::is_given(project, &client));
        if words.is_empty() || is_known || !is_free(&client, access) {
            continue;
        }
        let (name, who) = (&client.name, origins.name(&client, file.map(|file| (workflow, file))));
        match person.agrees(&format!("{who} {words}."), "Is that all right in this project?") {
            Some(true) => {}
            Some(false) => {
                return Err(AppError::usage(format!("{name} was not allowed to work, so nothing was done"))
                    .hint("contain it: --wrapper 'docker run ...'    or take another one: --with NAME"));
            }
            None => {
                return Err(AppError::usage(format!("{who} {words}; nobody has said yet that this is all right here"))
                    .hint(format!(
                        "unstuck workers {name} --trust   once in a project; or: --yes; or contain it: --wrapper 'docker run ...'"
                    )));
            }
        }
        if let Some(project) = project {
            trust::grant(project, &client, text::now()).map_err(|error| AppError::store(&error))?;
        }
        asked.push(client);
    }
    Ok(())
}

/// Columns that the name of a worker takes at most.
const NAME_MAX: usize = 40;
