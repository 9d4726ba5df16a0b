//! The stores.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fjall::{Database as FjallDatabase, Keyspace, KeyspaceCreateOptions, PersistMode};
use redb::{Database as RedbDatabase, ReadableDatabase, ReadableTable, TableDefinition};
use rusqlite::Connection;
use tadpole_kernel::draws::DrawCount;
use tadpole_kernel::id::{Digest, Sequence, Step};
use tadpole_kernel::log::{Cursor, Position, Sealed, Tail, Writer, genesis};
use tadpole_kernel::storage::{Disk, Storage};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Keeps events in order.
pub trait Store {
    /// Opens an empty store.
    fn open(directory: &Path) -> Result<Self>
    where
        Self: Sized;
    /// Adds a group; it is durable when this returns.
    fn append(&mut self, group: &[Vec<u8>]) -> Result<()>;
    /// Brings what was appended to where it stays.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }
    /// Reads everything in order, with the store's checks; how many bytes the events have.
    fn scan(&self) -> Result<usize>;
}

/// The log.
pub struct Log {
    storage: Arc<dyn Storage>,
    writer: Writer,
}

impl Store for Log {
    fn open(directory: &Path) -> Result<Self> {
        let storage: Arc<dyn Storage> = Arc::new(Disk::new(directory));
        let run = Digest::of(b"peers");
        let position = Position { step: Step(0), sequence: Sequence(0), chain: genesis(run) };
        let tail = Tail { segment: None, length: 0, sealed: true, torn: None };
        let writer = Writer::open(Arc::clone(&storage), run, position, &tail)?;
        Ok(Self { storage, writer })
    }

    fn append(&mut self, group: &[Vec<u8>]) -> Result<()> {
        let bodies = group.iter().map(|body| (0x0B01, body.as_slice()));
        self.writer.commit(bodies, Digest::default(), DrawCount::default(), Sealed::No)?;
        Ok(())
    }

    fn scan(&self) -> Result<usize> {
        let mut bytes = 0;
        for group in Cursor::open(Arc::clone(&self.storage))? {
            bytes += group?.bodies().map(|(_, body)| body.len()).sum::<usize>();
        }
        Ok(bytes)
    }
}

const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("events");

/// redb: a copy-on-write B-tree; a commit syncs by default.
pub struct Redb {
    database: RedbDatabase,
    next: u64,
}

impl Store for Redb {
    fn open(directory: &Path) -> Result<Self> {
        Ok(Self { database: RedbDatabase::create(directory.join("redb"))?, next: 0 })
    }

    fn append(&mut self, group: &[Vec<u8>]) -> Result<()> {
        let transaction = self.database.begin_write()?;
        {
            let mut table = transaction.open_table(TABLE)?;
            for body in group {
                table.insert(self.next, body.as_slice())?;
                self.next += 1;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    fn scan(&self) -> Result<usize> {
        let transaction = self.database.begin_read()?;
        let table = transaction.open_table(TABLE)?;
        let mut bytes = 0;
        for entry in table.iter()? {
            bytes += entry?.1.value().len();
        }
        Ok(bytes)
    }
}

/// fjall: a log-structured merge tree; a batch is synced to its journal, and sorted into tables later.
pub struct Fjall {
    database: FjallDatabase,
    events: Keyspace,
    next: u64,
}

impl Store for Fjall {
    fn open(directory: &Path) -> Result<Self> {
        let database = FjallDatabase::builder(directory.join("fjall")).open()?;
        let events = database.keyspace("events", KeyspaceCreateOptions::default)?;
        Ok(Self { database, events, next: 0 })
    }

    fn append(&mut self, group: &[Vec<u8>]) -> Result<()> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for body in group {
            batch.insert(&self.events, self.next.to_be_bytes(), body.as_slice());
            self.next += 1;
        }
        batch.commit()?;
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        // Made for its own tests; events would be scanned in memory otherwise.
        self.events.rotate_memtable_and_wait()?;
        Ok(())
    }

    fn scan(&self) -> Result<usize> {
        let mut bytes = 0;
        for entry in self.events.iter() {
            bytes += entry.value()?.len();
        }
        Ok(bytes)
    }
}

/// SQLite with a write-ahead log that is synced at each commit.
pub struct Sqlite {
    connection: Connection,
    next: i64,
}

impl Store for Sqlite {
    fn open(directory: &Path) -> Result<Self> {
        let connection = Connection::open(directory.join("sqlite"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute("CREATE TABLE events (sequence INTEGER PRIMARY KEY, body BLOB NOT NULL)", [])?;
        Ok(Self { connection, next: 0 })
    }

    fn append(&mut self, group: &[Vec<u8>]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached("INSERT INTO events VALUES (?1, ?2)")?;
            for body in group {
                insert.execute((self.next, body.as_slice()))?;
                self.next += 1;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    fn scan(&self) -> Result<usize> {
        let mut select = self.connection.prepare_cached("SELECT body FROM events ORDER BY sequence")?;
        let mut rows = select.query([])?;
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            bytes += row.get_ref(0)?.as_blob()?.len();
        }
        Ok(bytes)
    }
}

/// A file that groups are appended to, each synced. It cannot tell one event from the next.
pub struct Bare {
    path: PathBuf,
    file: File,
}

impl Store for Bare {
    fn open(directory: &Path) -> Result<Self> {
        let path = directory.join("file");
        Ok(Self { file: File::create_new(&path)?, path })
    }

    fn append(&mut self, group: &[Vec<u8>]) -> Result<()> {
        self.file.write_all(&group.concat())?;
        self.file.sync_data()?;
        Ok(())
    }

    fn scan(&self) -> Result<usize> {
        Ok(std::fs::read(&self.path)?.len())
    }
}
