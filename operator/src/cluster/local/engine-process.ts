import { ENGINE_ENVIRONMENT } from '@gwk/core/engine-environment';
import type { Logger } from '@gwk/core/log';
import { resultWithin } from '@gwk/core/async/timeout';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { PodPlan } from '../cluster.js';

/**
 * Record of a pod on disk: written before its process starts, removed after its exit was reported to the API. After a
 * crash at any point, every process that may run and every lease it may hold has a record.
 */
export interface PodRecord extends Omit<PodPlan, 'token'> {
  version: string;
  startedAt: number;
}

/** How to start engines. */
export interface EngineLaunch {
  /** Executable and first arguments. */
  command: [string, ...string[]];
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
  const child = spawn(command, args, {
    // A restarted operator finds the process by this name.
    argv0: record.name,
    env: buildEnvironment(launch, record, token),
    stdio: ['pipe', 'pipe', 'pipe'],
    // Ctrl-C must reach only the operator, which then stops its engines in order.
    detached: true,
  });
  child.stdin.on('error', () => undefined);
  const ended = waitForExit(child, readOutput(child, record.name, launch.print, log));
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
    ...launch.settings,
    ...(record.template.logLevel !== null && { GWK_LOG_LEVEL: record.template.logLevel }),
    GWK_ENGINE_TOKEN: token,
    GWK_ENGINE_POD: record.name,
    GWK_ENGINE_HOST: '127.0.0.1',
    GWK_ENGINE_PORT: '0',
    GWK_EXIT_WITH_PARENT: 'on',
  };
}

/**
 * Reads an engine's output. JSON log lines go to the operator's output unchanged. Other lines are wrapped, so that
 * the output stays JSON lines.
 * @returns the last error so far, which explains the exit
 */
function readOutput(
  child: Child,
  pod: string,
  print: (line: string) => void,
  log: Logger,
): () => string | null {
  let lastError: string | null = null;
  const read = (line: string): void => {
    if (line.trim() === '') return;
    const entry = parse(line);
    const text = (entry ? (entry.msg ?? '') : line).slice(0, MAX_LENGTH);
    if (entry) {
      if (entry.level === 'error' || entry.level === 'fatal') lastError = text;
      return print(line);
    }
    // The first line of a crash names the error. Later lines only show the location.
    if (!text.startsWith(' ') && !text.startsWith('Node.js v')) lastError = text;
    log.warn({ pod, line: text }, 'engine output');
  };
  for (const input of [child.stdout, child.stderr])
    createInterface({ input, crlfDelay: Infinity }).on('line', read);
  return () => lastError;
}

function parse(line: string): { level?: string; msg?: string } | null {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as { level?: string; msg?: string };
  } catch {
    return null;
  }
}

/** Waits for `close`, which follows the last line of output, so that the error is complete. */
function waitForExit(child: Child, lastError: () => string | null): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      if (child.pid === undefined) resolve(`it could not start: ${error.message}`);
    });
    child.once('exit', (code, signal) => {
      const how = signal === null ? `exit code ${code}` : `ended by ${signal}`;
      const settle = () => resolve([how, lastError()].filter((part) => part !== null).join(': '));
      child.once('close', settle);
      // A grandchild may keep the output open after the engine exited.
      setTimeout(settle, 1000).unref();
    });
  });
}
