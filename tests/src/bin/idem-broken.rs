//! The shop of `idem_tests::broken` as a process: started like `idem-testapp`, with one defect or none.

use std::error::Error;
use std::net::SocketAddr;

use clap::Parser;
use idem_tests::broken::{Defect, Shop, configure, serve};

#[derive(Parser)]
struct Arguments {
    /// `sqlite://PATH`
    #[arg(long)]
    database_url: String,
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Accepted because others are started with it; the shop has a pool of eight
    #[arg(long, hide = true)]
    pool_size: Option<u32>,
    #[arg(long, value_enum, default_value_t)]
    defect: Defect,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let path = arguments.database_url.strip_prefix("sqlite://");
    let shop = Shop::open(
        arguments.defect,
        path.ok_or("the shop keeps its books in SQLite")?,
    );
    actix_web::rt::System::new().block_on(async {
        let (server, address) = serve(configure(shop), arguments.listen, arguments.workers)?;
        println!("listening on http://{address}");
        server.await?;
        Ok(())
    })
}
