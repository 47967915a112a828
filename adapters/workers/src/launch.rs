//! Plans how a client is started: arguments, input and files, from its description and a request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use unstuck_core::cost;
use unstuck_core::workflow::Capability;

/// Maximum length of a prompt in an argument, in bytes: Linux accepts 128 KiB for each argument.
pub const ARGUMENT_BYTES_MAX: usize = 100_000;

/// How a client is started. Every argument may hold placeholders such as `${model}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LaunchSpec {
    /// The arguments that are always there.
    pub args: Vec<String>,
    /// How it gets the prompt.
    pub prompt: PromptChannel,
    /// Chooses the model `${model}`.
    pub model: Vec<String>,
    /// A prefix that is removed from the name of a model.
    pub model_prefix: Option<String>,
    /// Aliases of options, and options that exclude each other: the user's options replace Unstuck's.
    pub same: BTreeMap<String, String>,
    /// Options of the user that have another name in the client, with `${value}`.
    pub rewritten: BTreeMap<String, String>,
    /// Chooses how hard the model thinks, `${variant}`.
    pub variant: Vec<String>,
    /// The client's names of variants, by their common names.
    pub variants: BTreeMap<String, String>,
    /// Limits the turns, `${turns}`.
    pub turns: Vec<String>,
    /// Limits the cost, `${usd}`.
    pub usd: Vec<String>,
    /// Sets the name of the new conversation, `${session}`.
    pub preset: Vec<String>,
    /// Continues the conversation `${session}`. It follows all other arguments, so that it may be a subcommand.
    pub resume: Vec<String>,
    /// Requires an answer that matches the schema `${schema}` or `${schema_file}`.
    pub schema: Vec<String>,
    /// Whether the objects of a schema must be closed and all their properties required.
    pub strict_schema: bool,
    /// Arguments for a client that may only read.
    pub read: Permission,
    /// Arguments for a client that may also edit.
    pub edit: Permission,
    /// Arguments for a client that may also run any command.
    pub all: Permission,
    /// Arguments for a client that may run any command and must not edit, if they differ from `all`.
    pub run: Permission,
    /// Arguments that allow tests, added to `read` and `edit`.
    pub tests: Vec<String>,
    /// The arguments that come last.
    pub last: Vec<String>,
    /// Environment variables, which disable telemetry and self-updates and limit the client's retries.
    pub env: BTreeMap<String, String>,
    /// Content of the file `${settings_file}`, for settings that have no variable; not empty.
    pub settings: Option<String>,
    /// Use of a separate configuration in `${folder}`, on request only: the login is in the user's configuration.
    pub isolated: IsolationSpec,
}

/// How a prompt is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptChannel {
    /// On standard input, which is closed after it.
    #[default]
    Stdin,
    /// In the file `${prompt_file}`.
    File,
    /// As the argument `${prompt}`, if it is not long.
    Argument,
}

/// The permissions of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Permission {
    /// The arguments for it.
    pub args: Vec<String>,
    /// The permissions as text: the rest of a sentence that begins with the name of the client.
    pub words: String,
    /// Whether the client can still run any command, so that the user has to allow it.
    pub any_command: bool,
}

/// Separation of a client from the configuration of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IsolationSpec {
    /// Arguments.
    pub args: Vec<String>,
    /// Environment.
    pub env: BTreeMap<String, String>,
}

/// How much a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessLevel {
    /// Read.
    Read,
    /// Read and edit.
    Edit,
    /// Run any command, which may do anything.
    All,
}

impl AccessLevel {
    /// Returns the level that capabilities need. A client that may run any command can also edit.
    pub fn from_capabilities(capabilities: &[Capability]) -> Self {
        let has = |capability| capabilities.contains(&capability);
        match (has(Capability::RunCommands), has(Capability::Edit)) {
            (true, _) => Self::All,
            (false, true) => Self::Edit,
            (false, false) => Self::Read,
        }
    }
}

/// The request for a call.
#[derive(Clone, Copy, Debug)]
pub struct CallRequest<'a> {
    /// The prompt.
    pub prompt: &'a str,
    /// A folder for the files of this call.
    pub folder: &'a str,
    /// The model, if not the client's own choice.
    pub model: Option<&'a str>,
    /// How hard it thinks.
    pub variant: Option<&'a str>,
    /// The capabilities.
    pub capabilities: &'a [Capability],
    /// Maximum turns.
    pub turns: Option<u32>,
    /// Maximum cost, in millionths of a US dollar.
    pub micro_usd: Option<u64>,
    /// The conversation.
    pub session: CallSession<'a>,
    /// The schema of the answer: JSON.
    pub schema: Option<&'a str>,
    /// Arguments of the user.
    pub extra: &'a [String],
    /// Whether it must not use the configuration of the user.
    pub isolated: bool,
}

/// The conversation that a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSession<'a> {
    /// A new one; with this name, if the client lets us choose: a UUID.
    New(Option<&'a str>),
    /// It continues this one.
    Continued(&'a str),
}

/// How a call is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPlan {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The standard input, which is closed after it.
    pub stdin: Option<String>,
    /// The variables to add to the environment.
    pub env: BTreeMap<String, String>,
    /// Files to write before the start: path and content.
    pub files: Vec<(String, String)>,
    /// The name of the conversation, where it is known before the start.
    pub session: Option<String>,
    /// The requested features that this client does not have.
    pub unmet: Vec<ClientFeature>,
}

/// A feature of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ClientFeature {
    Model,
    Variant,
    Turns,
    Money,
    Resume,
    Schema,
    Isolation,
}

impl ClientFeature {
    /// Returns its name for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "a model",
            Self::Variant => "a variant of the model",
            Self::Turns => "a bound of turns",
            Self::Money => "a bound of money",
            Self::Resume => "to go on with a conversation",
            Self::Schema => "a schema of the answer",
            Self::Isolation => "a configuration of its own",
        }
    }
}

/// A call that cannot be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The prompt is too long for an argument, and the client takes it in no other way.
    #[error(
        "the prompt has {0} bytes, and an argument takes at most {ARGUMENT_BYTES_MAX}: the description of this client has to give it otherwise (prompt: stdin, or prompt: file)"
    )]
    PromptTooLong(usize),
}

/// Plans a call.
pub fn plan(program: &str, launch: &LaunchSpec, request: &CallRequest<'_>) -> Result<CallPlan, LaunchError> {
    if launch.prompt == PromptChannel::Argument && request.prompt.len() > ARGUMENT_BYTES_MAX {
        return Err(LaunchError::PromptTooLong(request.prompt.len()));
    }
    let mut planner = Planner::new(launch, request);
    let mut argv = vec![program.to_owned()];
    argv.extend(planner.args(&launch.args));
    let extra = launch.extra(request.extra);
    let ours = |arguments: &[String]| {
        if launch.is_given(arguments, &extra) { Vec::new() } else { arguments.to_vec() }
    };
    let is_model_requested = request.model.is_some() && !launch.is_given(&launch.model, &extra);
    argv.extend(planner.feature(is_model_requested, &launch.model, ClientFeature::Model));
    argv.extend(planner.feature(request.variant.is_some(), &launch.variant, ClientFeature::Variant));
    argv.extend(planner.feature(request.turns.is_some(), &launch.turns, ClientFeature::Turns));
    argv.extend(planner.feature(request.micro_usd.is_some(), &launch.usd, ClientFeature::Money));
    argv.extend(planner.args(&ours(&launch.permission_args(request.capabilities))));
    argv.extend(planner.feature(request.schema.is_some(), &launch.schema, ClientFeature::Schema));
    if request.isolated && launch.isolated == IsolationSpec::default() {
        planner.unmet.push(ClientFeature::Isolation);
    } else if request.isolated {
        argv.extend(planner.args(&launch.isolated.args));
    }
    argv.extend(extra);
    argv.extend(planner.session());
    argv.extend(planner.args(&launch.last));
    Ok(planner.finish(argv))
}

impl LaunchSpec {
    /// Returns the permission for an access level.
    pub fn grant(&self, access: AccessLevel) -> &Permission {
        match access {
            AccessLevel::Read => &self.read,
            AccessLevel::Edit => &self.edit,
            AccessLevel::All => &self.all,
        }
    }

    /// Describes the capabilities: the rest of a sentence that begins with the client's name.
    pub fn words(&self, capabilities: &[Capability]) -> String {
        let words = self.grant_for(capabilities).words.as_str();
        if self.tests(capabilities).is_empty() {
            words.to_owned()
        } else {
            format!("{words}; but may run tests")
        }
    }

    /// Returns the arguments for capabilities.
    fn permission_args(&self, capabilities: &[Capability]) -> Vec<String> {
        [&self.grant_for(capabilities).args, self.tests(capabilities)].concat()
    }

    fn grant_for(&self, capabilities: &[Capability]) -> &Permission {
        let has = |capability| capabilities.contains(&capability);
        let is_run =
            has(Capability::RunCommands) && !has(Capability::Edit) && self.run != Permission::default();
        if is_run { &self.run } else { self.grant(AccessLevel::from_capabilities(capabilities)) }
    }

    /// Returns the name by which an option is compared with others.
    fn option<'a>(&'a self, argument: &'a str) -> &'a str {
        let name = argument.split_once('=').map_or(argument, |(name, _)| name);
        self.same.get(name).map_or(name, String::as_str)
    }

    /// Returns whether the user's arguments already set the option that `ours` begins with.
    fn is_given(&self, ours: &[String], extra: &[String]) -> bool {
        // An option such as -c is given several times.
        let is_single = |name: &str| self.same.values().any(|other| other == name);
        let name = ours.first().map(|first| self.option(first)).filter(|name| is_single(name));
        name.is_some_and(|name| {
            extra.iter().any(|argument| argument.starts_with('-') && self.option(argument) == name)
        })
    }

    /// Returns the arguments of the user as the client takes them.
    fn extra(&self, extra: &[String]) -> Vec<String> {
        let mut arguments = Vec::new();
        let mut rest = extra.iter();
        while let Some(argument) = rest.next() {
            let (name, inline) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (argument.as_str(), None),
            };
            let Some(form) = self.rewritten.get(name) else {
                arguments.push(argument.clone());
                continue;
            };
            let value = if form.contains("${value}") {
                inline.or_else(|| rest.next().map(String::as_str))
            } else {
                None
            };
            let words = form.split(' ').filter(|word| !word.is_empty());
            arguments.extend(words.map(|word| word.replace("${value}", value.unwrap_or_default())));
        }
        arguments
    }

    /// Returns the arguments that allow tests, if it may run them and cannot run every command anyway.
    fn tests(&self, capabilities: &[Capability]) -> &[String] {
        let is_requested = capabilities.contains(&Capability::RunTests);
        let access = AccessLevel::from_capabilities(capabilities);
        if is_requested && access != AccessLevel::All { &self.tests } else { &[] }
    }
}

/// The values of the placeholders, and the unsupported features so far.
struct Planner<'a> {
    launch: &'a LaunchSpec,
    request: &'a CallRequest<'a>,
    values: BTreeMap<&'static str, String>,
    unmet: Vec<ClientFeature>,
}

/// The names of all placeholders.
pub const PLACEHOLDERS: &[&str] = &[
    "model", "variant", "turns", "usd", "session", "schema", "schema_file", "prompt", "prompt_file",
    "settings_file", "folder",
];

/// Returns the name of a model as the client knows it.
fn without_prefix<'a>(name: &'a str, launch: &LaunchSpec) -> &'a str {
    launch.model_prefix.as_deref().and_then(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

impl<'a> Planner<'a> {
    fn new(launch: &'a LaunchSpec, request: &'a CallRequest<'a>) -> Self {
        let file = |name: &str| format!("{}/{name}", request.folder);
        let variant = request.variant.map(|name| launch.variants.get(name).map_or(name, String::as_str));
        let session = match request.session {
            CallSession::New(preset) => preset,
            CallSession::Continued(id) => Some(id),
        };
        let values = [
            ("model", request.model.map(|name| without_prefix(name, launch).to_owned())),
            ("variant", variant.map(str::to_owned)),
            ("turns", request.turns.map(|turns| turns.to_string())),
            ("usd", request.micro_usd.map(cost::exact_dollars)),
            ("session", session.map(str::to_owned)),
            ("schema", request.schema.map(str::to_owned)),
            ("schema_file", Some(file("schema.json"))),
            ("prompt", Some(request.prompt.to_owned())),
            ("prompt_file", Some(file("prompt.md"))),
            ("settings_file", Some(file("settings.json"))),
            ("folder", Some(request.folder.to_owned())),
        ];
        let values = values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        Self { launch, request, values, unmet: Vec::new() }
    }

    fn args(&self, templates: &[String]) -> Vec<String> {
        templates.iter().map(|template| self.fill(template)).collect()
    }

    fn feature(&mut self, is_requested: bool, templates: &[String], feature: ClientFeature) -> Vec<String> {
        if is_requested && templates.is_empty() {
            self.unmet.push(feature);
        }
        if is_requested { self.args(templates) } else { Vec::new() }
    }

    fn session(&mut self) -> Vec<String> {
        let launch = self.launch;
        match self.request.session {
            CallSession::New(None) => Vec::new(),
            CallSession::New(Some(_)) => self.args(&launch.preset),
            CallSession::Continued(_) => self.feature(true, &launch.resume, ClientFeature::Resume),
        }
    }

    fn fill(&self, template: &str) -> String {
        let mut out = String::new();
        for part in parts(template) {
            match part {
                TemplatePart::Text(text) => out.push_str(text),
                TemplatePart::Name(name) => out.push_str(self.values.get(name).map_or("", String::as_str)),
            }
        }
        out
    }

    fn finish(self, argv: Vec<String>) -> CallPlan {
        let (launch, request) = (self.launch, self.request);
        let isolated = request.isolated.then_some(&launch.isolated.env);
        let env = launch.env.iter().chain(isolated.into_iter().flatten());
        let schema = request.schema.filter(|_| uses_placeholder(&launch.schema, "schema_file"));
        let by_file = (launch.prompt == PromptChannel::File).then_some(request.prompt);
        let settings = launch.settings.as_deref();
        let files = [("schema_file", schema), ("prompt_file", by_file), ("settings_file", settings)];
        let session = match request.session {
            CallSession::New(preset) => preset.filter(|_| !launch.preset.is_empty()),
            CallSession::Continued(id) => Some(id).filter(|_| !launch.resume.is_empty()),
        };
        CallPlan {
            argv,
            stdin: (launch.prompt == PromptChannel::Stdin).then(|| request.prompt.to_owned()),
            env: env.map(|(name, value)| (name.clone(), self.fill(value))).collect(),
            files: files
                .into_iter()
                .filter_map(|(name, content)| Some((self.values[name].clone(), content?.to_owned())))
                .collect(),
            session: session.map(str::to_owned),
            unmet: self.unmet,
        }
    }
}

/// Returns the first unknown placeholder of a template.
pub fn unknown_placeholder(template: &str) -> Option<&str> {
    parts(template).find_map(|part| match part {
        TemplatePart::Name(name) if !PLACEHOLDERS.contains(&name) => Some(name),
        _ => None,
    })
}

/// Returns whether templates use a placeholder.
pub fn uses_placeholder(templates: &[String], name: &str) -> bool {
    templates.iter().flat_map(|template| parts(template)).any(|part| part == TemplatePart::Name(name))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TemplatePart<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// Splits a template: `a${b}c` is `a`, the name `b` and `c`.
fn parts(template: &str) -> impl Iterator<Item = TemplatePart<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        if let Some(name) = rest.strip_prefix("${")
            && let Some(end) = name.find('}')
        {
            rest = &name[end + 1..];
            return Some(TemplatePart::Name(&name[..end]));
        }
        let first = rest.chars().next()?.len_utf8();
        let (text, after) = rest.split_at(rest[first..].find("${").map_or(rest.len(), |at| at + first));
        rest = after;
        Some(TemplatePart::Text(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_once_and_only_at_its_placeholders() {
        let cases: &[(&str, &[TemplatePart<'_>])] = &[
            ("", &[]),
            ("--model", &[TemplatePart::Text("--model")]),
            ("${model}", &[TemplatePart::Name("model")]),
            (
                "a=${b}c${d}",
                &[
                    TemplatePart::Text("a="),
                    TemplatePart::Name("b"),
                    TemplatePart::Text("c"),
                    TemplatePart::Name("d"),
                ],
            ),
            ("$x ${", &[TemplatePart::Text("$x "), TemplatePart::Text("${")]),
            ("${a${b}", &[TemplatePart::Name("a${b")]),
            ("é${a}", &[TemplatePart::Text("é"), TemplatePart::Name("a")]),
        ];
        for (template, expected) in cases {
            assert_eq!(parts(template).collect::<Vec<_>>(), *expected, "{template}");
        }
    }
}
