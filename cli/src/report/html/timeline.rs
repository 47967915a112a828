//! When the run worked, checked and waited, as a picture: a lane for each iteration.

use maud::{Markup, html};
use unstuck_core::id::{Iteration, Millis, StepId, Timestamp};
use unstuck_replay::report::{Activity, RunReport, Span};

use super::ReportData;
use crate::format;

/// Widths and heights of the picture, in SVG units.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 130.0;
const LANE: f64 = 18.0;
const BAR: f64 = 12.0;
/// Room above the lanes, for the scale.
const TOP: f64 = 22.0;
/// The narrowest bar that can be seen.
const BAR_MIN: f64 = 1.5;
const TICKS: u32 = 4;
/// Maximum number of lanes. If there are more, the first ones are left out.
const LANES_MAX: usize = 200;

/// The time spans of an iteration.
struct Lane<'a> {
    step: &'a StepId,
    iteration: Iteration,
    spans: &'a [Span],
}

/// The time that the picture shows.
struct Scale {
    from: Timestamp,
    whole: Millis,
}

/// Draws the run over time.
pub fn section(page: &ReportData) -> Markup {
    let lanes = lanes(&page.report);
    if lanes.is_empty() {
        return html! {};
    }
    let story = &page.report.story;
    let left_out = lanes.len().saturating_sub(LANES_MAX);
    let lanes = &lanes[left_out..];
    let from = match left_out {
        0 => story.started_at,
        _ => lanes.iter().flat_map(|lane| lane.spans).map(|span| span.from).min().unwrap_or(story.started_at),
    };
    let scale = Scale { from, whole: Millis(story.over_at().since(from).0.max(1)) };
    let height = TOP + LANE * lanes.len() as f64;
    html! {
        section {
            h2 { "Timeline" }
            @if left_out > 0 { p { "The first " (left_out) " iterations are left out." } }
            div class="wide" {
                svg class="picture" role="img" viewBox=(format!("0 0 {WIDTH} {height}")) width=(WIDTH) height=(height)
                    aria-label="When each iteration worked, checked and waited" {
                    title { "When each iteration worked, checked and waited" }
                    @for tick in 0..=TICKS { (mark(&scale, tick, height)) }
                    @for (at, lane) in lanes.iter().enumerate() { (draw(&scale, lane, TOP + LANE * at as f64)) }
                }
            }
            p class="small legend" {
                span class="key work" {} " work " span class="key check" {} " check " span class="key wait" {} " wait. "
                "A dashed bar has no recorded end. The scale begins at " (format::timestamp_with_zone(from)) "."
            }
        }
    }
}

fn lanes(report: &RunReport) -> Vec<Lane<'_>> {
    let steps = report.steps();
    let all = steps.flat_map(|(step, report)| {
        report.iterations.iter().map(|(iteration, report)| (&step.id, *iteration, report.spans.as_slice()))
    });
    let all = all.filter(|(_, _, spans)| !spans.is_empty());
    all.map(|(step, iteration, spans)| Lane { step, iteration, spans }).collect()
}

impl Scale {
    fn x(&self, at: Timestamp) -> f64 {
        let part = at.since(self.from).0 as f64 / self.whole.0 as f64;
        LEFT + part * (WIDTH - LEFT - 30.0)
    }
}

/// A line of the scale, with how long after the beginning it is.
fn mark(scale: &Scale, tick: u32, height: f64) -> Markup {
    let after = Millis(scale.whole.0 * u64::from(tick) / u64::from(TICKS));
    let x = format!("{:.1}", scale.x(Timestamp(scale.from.0 + after.0)));
    html! {
        line class="scale" x1=(x) y1=(TOP - 4.0) x2=(x) y2=(height) {}
        text x=(x) y="12" text-anchor="middle" { (format::duration(after)) }
    }
}

fn draw(scale: &Scale, lane: &Lane<'_>, y: f64) -> Markup {
    let name = name(lane);
    html! {
        text x="0" y=(y + BAR) { (format::cut(&name, 19)) }
        @for span in lane.spans {
            @let (from, to) = (scale.x(span.from), scale.x(span.to));
            @let class = if span.ended { word(span.activity).to_owned() } else { format!("{} lost", word(span.activity)) };
            rect class=(class) x=(format!("{from:.1}")) y=(y + 2.0) width=(format!("{:.1}", (to - from).max(BAR_MIN))) height=(BAR) {
                title {
                    (name) ": " (word(span.activity)) ", " (format::duration(span.to.since(span.from))) " from "
                    (format::timestamp_with_zone(span.from)) ", event " (span.event)
                    @if !span.ended { ", its end was not recorded" }
                }
            }
        }
    }
}

fn name(lane: &Lane<'_>) -> String {
    match lane.iteration {
        Iteration::BASELINE => format!("{} baseline", lane.step),
        iteration => format!("{} #{iteration}", lane.step),
    }
}

fn word(activity: Activity) -> &'static str {
    match activity {
        Activity::Work => "work",
        Activity::Check => "check",
        Activity::Wait => "wait",
    }
}
