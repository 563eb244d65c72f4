#!/usr/bin/env node
// Replacement for Prisma's native schema engine where that binary cannot be downloaded. It takes the same arguments and
// the same JSON-RPC lines on stdin and stdout, and uses the WebAssembly build of the engine.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from '@prisma/driver-adapter-utils';
import pg from 'pg';
import { parse as parseUrl } from 'pg-connection-string';

const OID_INTERNAL_CHAR = 18;
const OID_BPCHAR = 1042;
const ENGINE_ERROR = 4466;

function readArguments(argv) {
  const options = { datamodels: [] };
  for (let i = 0; i < argv.length; i++) {
    if (argv[i] === '--datasource') options.url = JSON.parse(argv[++i]).url;
    else if (argv[i] === '--datamodels') options.datamodels.push([argv[++i], readFileSync(argv[i], 'utf8')]);
    else if (argv[i] === 'cli') options.command = argv[++i];
    else if (argv[i] === '--version') options.version = true;
  }
  return options;
}

const options = readArguments(process.argv.slice(2));

const databaseName = () => decodeURIComponent(new URL(options.url).pathname.slice(1)) || 'postgres';

async function onServer(work) {
  const url = new URL(options.url);
  url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function createDatabase() {
  try {
    await onServer((client) => client.query(`CREATE DATABASE ${pg.escapeIdentifier(databaseName())}`));
  } catch (error) {
    if (error.code !== '42P04') throw error;
  }
}

const dropDatabase = (name) =>
  onServer((client) => client.query(`DROP DATABASE IF EXISTS ${pg.escapeIdentifier(name)} WITH (FORCE)`));

async function canConnect() {
  const client = new pg.Client({ connectionString: options.url });
  await client.connect();
  await client.end();
}

const commands = {
  'can-connect-to-database': canConnect,
  'create-database': createDatabase,
  'drop-database': () => dropDatabase(databaseName()),
};

const prismaCodes = { '3D000': 'P1003', '28P01': 'P1000', ECONNREFUSED: 'P1001', ENOTFOUND: 'P1001' };

async function runCommand(name) {
  try {
    await commands[name]();
    return 0;
  } catch (error) {
    const fields = {
      error_code: prismaCodes[error.code] ?? 'P1017',
      message: error.message || String(error),
    };
    const line = { level: 'ERROR', target: 'schema_engine::logger', fields };
    process.stderr.write(`\n${JSON.stringify(line)}\n`);
    return 1;
  }
}

/**
 * Columns of the type "char" in the last result. The adapter does not know this type, so its results get another type
 * first and are corrected by these names. The engine runs one query at a time.
 */
let internalChars = new Set();

function acceptInternalChar() {
  const query = pg.Client.prototype.query;
  const record = (result) => {
    const fields = [result].flat().flatMap((one) => one?.fields ?? []);
    const chars = fields.filter((field) => field.dataTypeID === OID_INTERNAL_CHAR);
    internalChars = new Set(chars.map((field) => field.name));
    for (const field of chars) field.dataTypeID = OID_BPCHAR;
    return result;
  };
  pg.Client.prototype.query = function (...args) {
    const at = args.findIndex((arg) => typeof arg === 'function');
    if (at >= 0) {
      const done = args[at];
      args[at] = (error, result) => done(error, result && record(result));
    }
    const pending = query.apply(this, args);
    return typeof pending?.then === 'function' ? pending.then(record) : pending;
  };
}

function patchAdapter(adapter) {
  // The adapter's own method splits a script at every semicolon, even inside functions and comments.
  adapter.executeScript = async (script) => void (await adapter.client.query(script));
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = async (query) => {
    const result = await queryRaw(query);
    const types = result.columnTypes.map((type, at) =>
      internalChars.has(result.columnNames[at]) ? ColumnTypeEnum.Character : type,
    );
    return { ...result, columnTypes: types };
  };
  return adapter;
}

/** The adapter's own shadow database uses the name in the connection string and is dropped while open. */
class MigrationPg extends PrismaPg {
  constructor(config, adapterOptions) {
    super(config, adapterOptions);
    this.settings = [config, adapterOptions];
  }

  async connect() {
    return patchAdapter(await super.connect());
  }

  async connectToShadowDb() {
    const [config, adapterOptions] = this.settings;
    const database = `prisma_migrate_shadow_db_${crypto.randomUUID()}`;
    await onServer((client) => client.query(`CREATE DATABASE ${pg.escapeIdentifier(database)}`));
    const adapter = await new MigrationPg({ ...config, database }, adapterOptions).connect();
    const dispose = adapter.dispose.bind(adapter);
    adapter.dispose = async () => {
      await dispose();
      await dropDatabase(database);
    };
    return adapter;
  }
}

async function loadEngine() {
  globalThis.PRISMA_WASM_PANIC_REGISTRY = { set_message: (message) => process.stderr.write(`${message}\n`) };
  acceptInternalChar();
  const bindings = await import('@prisma/schema-engine-wasm/schema_engine_bg');
  const path = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const wasm = readFileSync(path.replace(/\.js$/, '.wasm'));
  const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': bindings });
  bindings.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  const schema = new URL(options.url).searchParams.get('schema') ?? undefined;
  const factory = bindMigrationAwareSqlAdapterFactory(new MigrationPg(parseUrl(options.url), { schema }));
  const datamodels = options.datamodels.length > 0 ? options.datamodels : undefined;
  return bindings.SchemaEngine.new({ datamodels }, () => {}, factory);
}

let engine;
let printed = 0;
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

async function call(method, params) {
  if (method === 'createDatabase') {
    await createDatabase();
    return { databaseName: databaseName() };
  }
  engine ??= await loadEngine();
  // These two need a shadow database. This build of the engine opens one only in devDiagnostic.
  if (method === 'evaluateDataLoss' || method === 'createMigration') {
    await engine.devDiagnostic({ migrationsList: params.migrationsList, filters: params.filters });
  }
  const result = await engine[method === 'getDatabaseVersion' ? 'version' : method](params);
  if (method !== 'diff') return result ?? {};
  const { stdout, ...rest } = result;
  if (stdout) write({ id: `print-${++printed}`, method: 'print', params: { content: stdout } });
  return rest;
}

async function answer({ id, method, params }) {
  try {
    write({ id, result: await call(method, params) });
  } catch (error) {
    const data = {
      is_panic: false,
      message: error?.message ?? String(error),
      meta: error?.meta ?? null,
      error_code: error?.code ?? null,
    };
    write({
      id,
      error: { code: ENGINE_ERROR, message: 'An error happened. Check the data field for details.', data },
    });
  }
}

function serve() {
  let last = Promise.resolve();
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const request = JSON.parse(line);
    // A line without a method acknowledges something printed.
    if (request.method) last = last.then(() => answer(request));
  });
  lines.on('close', () => void last.then(() => process.exit(0)));
}

if (options.version) {
  process.stdout.write('schema-engine-cli wasm\n');
} else if (options.command) {
  process.exitCode = await runCommand(options.command);
} else {
  serve();
}
