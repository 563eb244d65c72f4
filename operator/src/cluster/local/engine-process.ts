import { ENGINE_ENVIRONMENT } from '@gwk/core/engine-environment';
import type { Logger } from '@gwk/core/process/log';
import { resultWithin } from '@gwk/core/async/timeout';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { PodPlan } from '../cluster.js';
import { confineEngine, type EngineIsolation } from './engine-isolation.js';

/**
 * Record of a pod in the state file: written before its process starts, removed after its exit was reported to the API.
 * After a crash at any point, every process that may run and every lease it may hold has a record.
 */
export interface PodRecord extends Omit<PodPlan, 'token'> {
  version: string;
  startedAt: number;
}

/** How to start engines. */
export interface EngineLaunch {
  /** Executable and first arguments. */
  command: [string, ...string[]];
  /** Null: for a command that is not Node. */
  isolation: EngineIsolation | null;
  /** Settings common to all engines. */
  settings: Record<string, string>;
  /** Receives their log lines. */
  print: (line: string) => void;
}

export interface EngineProcess {
  /** Resolves once it has printed or exited, or after 3 s. Other engines may start then. */
  ready: Promise<unknown>;
  /** Description of the exit. Also resolves if the process could not start. */
  ended: Promise<string>;
  signal(kind: NodeJS.Signals): void;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const READY_AFTER_MS = 3000;
const MAX_LENGTH = 200;
/** Settings of other programs, which engines must not see. Tests set failpoints in whole process trees. */
const NOT_FOR_ENGINES = /^(GWK_(?!FAILPOINT_DIR$)|DATABASE_URL|REDIS_URL|PROMETHEUS_URL)/;

export function launchEngine(
  launch: EngineLaunch,
  record: PodRecord,
  token: string,
  log: Logger,
): EngineProcess {
  const [command, ...args] = launch.command;
  const confinement = launch.isolation && confineEngine(launch.isolation, record.name);
  const temporary = confinement && { TMPDIR: confinement.temporaryFolder, HOME: confinement.temporaryFolder };
  const child = spawn(command, [...(confinement?.flags ?? []), ...args], {
    // A restarted operator finds the process by this name.
    argv0: record.name,
    env: { ...buildEnvironment(launch, record, token), ...temporary },
    ...confinement?.user,
    stdio: ['pipe', 'pipe', 'pipe'],
    // Ctrl-C must reach only the operator, which then stops its engines in order.
    detached: true,
  });
  child.stdin.on('error', () => undefined);
  const ended = waitForExit(child, readOutput(child, record.name, launch.print, log));
  void ended.then(confinement?.release);
  const printed = once(child.stdout, 'data');
  return {
    ready: resultWithin(Promise.race([printed, ended]), READY_AFTER_MS, null),
    ended,
    signal: (kind) => void child.kill(kind),
  };
}

function buildEnvironment(launch: EngineLaunch, record: PodRecord, token: string): NodeJS.ProcessEnv {
  const machine = Object.entries(process.env).filter(([name]) => !NOT_FOR_ENGINES.test(name));
  return {
    ...Object.fromEntries(machine),
    ...ENGINE_ENVIRONMENT,
    NODE_OPTIONS: [ENGINE_ENVIRONMENT.NODE_OPTIONS, process.env['NODE_OPTIONS'] ?? ''].join(' ').trim(),
    ...launch.settings,
    ...(record.template.logLevel !== null && { GWK_LOG_LEVEL: record.template.logLevel }),
    GWK_ENGINE_TOKEN: token,
    GWK_ENGINE_POD: record.name,
    GWK_ENGINE_HOST: '127.0.0.1',
    GWK_ENGINE_PORT: '0',
    GWK_EXIT_WITH_PARENT: 'on',
  };
}

/** Report of an engine about its exit. */
interface ExitReport {
  lastError: string | null;
  /** Set by an engine that Node's permission model keeps from exiting with a code (engine-pod/src/exit-process.ts). */
  code: number | null;
}

/**
 * Reads an engine's output. JSON log lines go to the operator's output unchanged. Other lines are wrapped, so that
 * the output stays JSON lines.
 */
function readOutput(child: Child, pod: string, print: (line: string) => void, log: Logger): ExitReport {
  const report: ExitReport = { lastError: null, code: null };
  const read = (line: string): void => {
    if (line.trim() === '') return;
    const entry = parse(line);
    const text = (entry ? (entry.msg ?? '') : line).slice(0, MAX_LENGTH);
    if (entry) {
      if (typeof entry.exit_code === 'number') return void (report.code = entry.exit_code);
      if (entry.level === 'error' || entry.level === 'fatal') report.lastError = text;
      return print(line);
    }
    // The first line of a crash names the error. Later lines only show the location.
    if (!text.startsWith(' ') && !text.startsWith('Node.js v')) report.lastError = text;
    log.warn({ pod, line: text }, 'engine output');
  };
  for (const input of [child.stdout, child.stderr])
    createInterface({ input, crlfDelay: Infinity }).on('line', read);
  return report;
}

interface LogLine {
  level?: string;
  msg?: string;
  exit_code?: unknown;
}

function parse(line: string): LogLine | null {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return null;
  }
}

/** Waits for `close`, which follows the last line of output, so that the error is complete. */
function waitForExit(child: Child, report: ExitReport): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      if (child.pid === undefined) resolve(`it could not start: ${error.message}`);
    });
    child.once('exit', (code, signal) => {
      const settle = () => {
        const exitCode = report.code ?? code;
        const how = exitCode === null ? `ended by ${signal}` : `exit code ${exitCode}`;
        resolve([how, report.lastError].filter((part) => part !== null).join(': '));
      };
      child.once('close', settle);
      // A grandchild may keep the output open after the engine exited.
      setTimeout(settle, 1000).unref();
    });
  });
}
