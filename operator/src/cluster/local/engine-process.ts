import { ENGINE_ENVIRONMENT } from '@gwk/core/engine-environment';
import type { Logger } from '@gwk/core/log';
import { spawn, type ChildProcess } from 'node:child_process';
import type { PodPlan } from '../cluster.js';
import { EngineOutput } from './engine-output.js';

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
  ready: Promise<void>;
  /** Description of the exit. Also resolves if the process could not start. */
  ended: Promise<string>;
  signal(kind: NodeJS.Signals): void;
}

const READY_AFTER_MS = 3000;
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
  const output = new EngineOutput(record.name, log, launch.print);
  output.read(child.stdout);
  output.read(child.stderr);
  const ended = waitForExit(child, output);
  return {
    ready: waitUntilReady(child, ended),
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

/** Waits for `close`, which follows the last line of output, so that the error is complete. */
function waitForExit(child: ChildProcess, output: EngineOutput): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      if (child.pid === undefined) resolve(`it could not start: ${error.message}`);
    });
    child.once('exit', (code, signal) => {
      const how = signal === null ? `exit code ${code}` : `ended by ${signal}`;
      const settle = () => resolve(output.lastError === null ? how : `${how}: ${output.lastError}`);
      child.once('close', settle);
      // A grandchild may keep the output open after the engine exited.
      setTimeout(settle, 1000).unref();
    });
  });
}

function waitUntilReady(child: ChildProcess, ended: Promise<string>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, READY_AFTER_MS);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    child.stdout!.once('data', done);
    void ended.then(done);
  });
}
