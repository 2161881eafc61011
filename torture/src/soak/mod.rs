//! `idem-soak`: two processes of the test application under the ordinary life of clients for a long time, with no harm
//! done to anybody; what each process and the database hold meanwhile must not grow. What clients do is in `client`,
//! what is measured in `process` and `database`, what counts as growth in `flat`.

mod client;
mod database;
mod figure;
mod flat;
mod operator;
mod options;
mod process;
mod report;
mod run;

pub(crate) use options::Options;
pub(crate) use run::all;
