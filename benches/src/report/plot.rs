//! The ratios as a picture: a bar for the median, whiskers for the spread, a mark where the target is.

use std::fmt::Display;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Outcome;
use crate::figure::{Figure, Spread, Target, Value};

use super::groups;

const WIDTH: i32 = 1100;
const LEFT: i32 = 520;
const RIGHT: i32 = 1010;
const TOP: i32 = 64;
const HEAD: i32 = 44;
const ROW: i32 = 22;
const BAR: i32 = 6;
const FONT: &str = "sans-serif";

const MET: RGBColor = RGBColor(56, 142, 96);
const MISSED: RGBColor = RGBColor(200, 92, 60);
const PLAIN: RGBColor = RGBColor(92, 128, 176);
const FAINT: RGBColor = RGBColor(170, 170, 170);

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// A group with its own scale, from zero to the largest thing in it.
struct Scale {
    most: f64,
}

pub(super) fn render(figures: &[Figure]) -> Outcome<String> {
    let ratios: Vec<Figure> = figures
        .iter()
        .filter(|figure| matches!(figure.value, Value::Ratio(_)))
        .cloned()
        .collect();
    let groups = groups(&ratios);
    let height = TOP + HEAD * count(groups.len()) + ROW * count(ratios.len()) + ROW;
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).map_err(words)?;
        text(
            &area,
            "What protection costs: ratios",
            (16, 24),
            22,
            &BLACK,
            HPos::Left,
        )?;
        let legend = "bar: median of the rounds (green: target met, orange: missed) · whiskers: lowest and highest · red mark: target · grey line: 1";
        text(&area, legend, (16, 48), 14, &BLACK, HPos::Left)?;
        let mut y = TOP;
        for (name, members) in groups {
            y += HEAD;
            text(&area, name, (16, y - ROW / 2), 17, &BLACK, HPos::Left)?;
            let scale = Scale::of(&members);
            scale.draw_one(&area, (y, y + ROW * count(members.len())))?;
            for figure in members {
                draw(&area, figure, &scale, y + ROW / 2)?;
                y += ROW;
            }
        }
        area.present().map_err(words)?;
    }
    Ok(svg)
}

fn draw(area: &Area<'_>, figure: &Figure, scale: &Scale, y: i32) -> Outcome {
    let Value::Ratio(Spread {
        median, low, high, ..
    }) = figure.value
    else {
        return Ok(());
    };
    let color = match figure.is_met() {
        Some(true) => MET,
        Some(false) => MISSED,
        None => PLAIN,
    };
    let at = |value| scale.x(value);
    text(area, &figure.name, (LEFT - 10, y), 14, &BLACK, HPos::Right)?;
    let bar = [(LEFT, y - BAR), (at(median), y + BAR)];
    area.draw(&Rectangle::new(bar, color.filled()))
        .map_err(words)?;
    line(area, (at(low), y), (at(high), y), BLACK.stroke_width(1))?;
    for end in [low, high] {
        line(
            area,
            (at(end), y - 4),
            (at(end), y + 4),
            BLACK.stroke_width(1),
        )?;
    }
    if let Some(Target::AtLeast(target) | Target::AtMost(target)) = figure.target {
        line(
            area,
            (at(target), y - 9),
            (at(target), y + 9),
            RED.stroke_width(2),
        )?;
    }
    let end = [median, high].map(at).into_iter().max().unwrap_or(LEFT);
    text(
        area,
        &format!("{median:.2}"),
        (end + 8, y),
        14,
        &BLACK,
        HPos::Left,
    )
}

impl Scale {
    fn of(members: &[&Figure]) -> Self {
        let reaches = members.iter().map(|figure| {
            let high = match &figure.value {
                Value::Ratio(spread) => spread.high,
                Value::Count { value, .. } => *value,
            };
            match figure.target {
                Some(Target::AtLeast(target) | Target::AtMost(target)) => high.max(target),
                None => high,
            }
        });
        Self {
            most: reaches
                .filter(|reach| reach.is_finite())
                .fold(1.05, f64::max),
        }
    }

    /// What is not a number has no length.
    fn x(&self, value: f64) -> i32 {
        let share = if value.is_finite() {
            value / self.most
        } else {
            0.0
        };
        LEFT + (share.clamp(0.0, 1.0) * f64::from(RIGHT - LEFT)).round() as i32
    }

    fn draw_one(&self, area: &Area<'_>, (top, bottom): (i32, i32)) -> Outcome {
        let x = self.x(1.0);
        line(area, (x, top), (x, bottom), FAINT.stroke_width(1))?;
        line(area, (LEFT, top), (LEFT, bottom), FAINT.stroke_width(1))
    }
}

fn line(area: &Area<'_>, from: (i32, i32), to: (i32, i32), style: ShapeStyle) -> Outcome {
    Ok(area
        .draw(&PathElement::new([from, to], style))
        .map_err(words)?)
}

fn text(
    area: &Area<'_>,
    words_of: &str,
    at: (i32, i32),
    size: i32,
    color: &RGBColor,
    side: HPos,
) -> Outcome {
    let style = (FONT, size)
        .into_text_style(area)
        .color(color)
        .pos(Pos::new(side, VPos::Center));
    Ok(area
        .draw(&Text::new(words_of.to_owned(), at, style))
        .map_err(words)?)
}

fn count(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX / ROW)
}

/// plotters' errors borrow from what was drawn on.
fn words(error: impl Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn ratios_are_drawn_and_counts_are_not() {
        let svg = render(&samples()).unwrap();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("protected / bare") && svg.contains("0.78"));
        assert!(!svg.contains("Storm"));
    }

    #[test]
    fn nothing_measured_is_a_picture_too() {
        assert!(render(&[]).unwrap().contains("What protection costs"));
    }

    #[test]
    fn a_scale_ends_with_its_largest_value() {
        let samples = samples();
        let scale = Scale::of(&samples.iter().take(2).collect::<Vec<_>>());
        assert_eq!(
            (scale.x(0.0), scale.x(1.05), scale.x(9.0)),
            (LEFT, RIGHT, RIGHT)
        );
        assert_eq!(scale.x(f64::NAN), LEFT);
    }
}
