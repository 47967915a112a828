//! Steps that were proved before another step changed the workspace, so that their proof may be outdated.

use unstuck_core::evidence::Decision;
use unstuck_core::id::{Seq, StepId};

use crate::step_summary::StepSummary;

/// A verdict that rests on what was run, and the commands that were.
struct VerifiedStep<'a> {
    at: Seq,
    commands: Vec<&'a str>,
}

/// Returns a sentence for each step whose proof is older than the work of another step, where its commands were not all
/// run again after that.
pub(crate) fn describe_stale(steps: &[StepSummary]) -> Vec<String> {
    let proofs: Vec<(&StepId, VerifiedStep<'_>)> =
        steps.iter().filter_map(|step| Some((&step.id, proof(step)?))).collect();
    let newest = steps.iter().filter_map(changed_at).max();
    let is_run_again = |command: &&str| {
        proofs.iter().any(|(_, proof)| Some(proof.at) > newest && proof.commands.contains(command))
    };
    let of_step = |(id, proof): &(&StepId, VerifiedStep<'_>)| {
        let is_later = |step: &&StepSummary| step.id != **id && changed_at(step) > Some(proof.at);
        let later: Vec<&str> = steps.iter().filter(is_later).map(|step| step.id.as_str()).collect();
        let all_again = proof.commands.iter().all(is_run_again);
        let who = later.join(", ");
        (!later.is_empty() && !all_again).then(|| {
            format!(
                "{id} was verified before {who} changed the workspace, and its checks were not asked again"
            )
        })
    };
    proofs.iter().filter_map(of_step).collect()
}

/// Returns the commands that prove the end of a step; `None` if no command does.
fn proof(step: &StepSummary) -> Option<VerifiedStep<'_>> {
    let last = step.iterations.last().filter(|last| last.decision == Some(Decision::Complete))?;
    let script = step.script.as_deref().filter(|_| last.source == Some("exit-code"));
    let commands: Vec<&str> =
        last.commands.iter().map(|command| command.run.as_str()).chain(script).collect();
    (!commands.is_empty()).then_some(VerifiedStep { at: last.verdict?, commands })
}

fn changed_at(step: &StepSummary) -> Option<Seq> {
    step.iterations.iter().filter_map(|iteration| iteration.changed_at).max()
}

#[cfg(test)]
mod tests {
    use unstuck_core::id::{Iteration, Timestamp};
    use unstuck_core::testing::step;

    use super::*;
    use crate::step_summary::{CommandSummary, IterationSummary};

    /// Returns a step that changed the workspace at one event and was found complete at another. A command or the
    /// script of its check found that; with `claim`, only the worker said so.
    fn step_with((id, changed, verdict, by): &(&str, u64, u64, &'static str)) -> StepSummary {
        let run = by
            .strip_prefix("run ")
            .map(|run| CommandSummary { run: run.to_owned(), ..CommandSummary::default() });
        let mut iteration = IterationSummary::new(Iteration(1), Timestamp(0));
        iteration.changed_at = (*changed > 0).then_some(Seq(*changed));
        (iteration.verdict, iteration.decision) = (Some(Seq(*verdict)), Some(Decision::Complete));
        let script = by.strip_prefix("script ").map(str::to_owned);
        iteration.source = Some(if script.is_some() { "exit-code" } else { "output-json" });
        iteration.commands = run.into_iter().collect();
        StepSummary { iterations: vec![iteration], script, ..StepSummary::new(&step(id)) }
    }

    #[test]
    fn proof_is_outdated_after_a_change_by_another_step() {
        let check = |steps: &[(&str, u64, u64, &'static str)], expected: &[&str]| {
            let steps: Vec<StepSummary> = steps.iter().map(step_with).collect();
            let sentences = describe_stale(&steps);
            let who: Vec<String> = sentences
                .iter()
                .map(|sentence| {
                    sentence.replace(" changed the workspace, and its checks were not asked again", "")
                })
                .collect();
            assert_eq!(who, expected);
        };
        let proved = ("fix", 2, 3, "run test");
        check(&[proved], &[]);
        check(&[proved, ("docs", 0, 5, "claim")], &[]);
        check(&[proved, ("docs", 4, 5, "claim")], &["fix was verified before docs"]);
        check(&[proved, ("docs", 4, 5, "run test")], &[]);
        check(&[proved, ("docs", 4, 5, "run lint")], &["fix was verified before docs"]);
        check(
            &[proved, ("docs", 4, 5, "run test"), ("more", 6, 7, "claim")],
            &["fix was verified before docs, more", "docs was verified before more"],
        );
        check(&[("fix", 2, 3, "script a"), ("docs", 4, 5, "script b")], &["fix was verified before docs"]);
        check(&[("fix", 2, 3, "script a"), ("docs", 4, 5, "script a")], &[]);
        check(&[("fix", 2, 3, "claim"), ("docs", 4, 5, "claim")], &[]);
    }
}
