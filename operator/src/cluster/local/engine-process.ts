import { ENGINE_ENVIRONMENT } from '@gwk/core/engine-environment';
import type { Logger } from '@gwk/core/log';
import { spawn, type ChildProcess } from 'node:child_process';
import { EngineOutput } from './engine-output.js';
import type { PodRecord } from './pod-records.js';
import { readStartTime, type ProcessIdentity } from './processes.js';

/** How engines are started. */
export interface EngineLaunch {
  /** An executable and its first arguments. */
  command: [string, ...string[]];
  /** Settings that all engines have in common. */
  settings: Record<string, string>;
  /** Where their log lines go. */
  pass: (line: string) => void;
}

export interface EngineProcess {
  /** It printed, or it ended, or it has had enough time: others may start. */
  ready: Promise<void>;
  /** How it ended, in words. Resolves also where it could not be started at all. */
  ended: Promise<string>;
  /** Null: it could not be started, or has ended. */
  processName(): Promise<ProcessIdentity | null>;
  signal(kind: NodeJS.Signals): void;
}

const READY_AFTER_MS = 3000;
/** Settings of the programs that start engines: no engine's business. */
const NOT_FOR_ENGINES = /^(GWK_|DATABASE_URL|REDIS_URL|PROMETHEUS_URL)/;
/** Tests arm failpoints in whole process trees. */
const PASSED_ON = ['GWK_FAILPOINT_DIR'];

export function launchEngine(
  launch: EngineLaunch,
  record: PodRecord,
  token: string,
  log: Logger,
): EngineProcess {
  const [command, ...args] = launch.command;
  const child = spawn(command, args, {
    // The name by which a start that was cut off is found again.
    argv0: record.name,
    env: environmentOf(launch, record, token),
    stdio: ['pipe', 'pipe', 'pipe'],
    // A Ctrl-C at the terminal is the operator's to handle: it asks its engines in its own time.
    detached: true,
  });
  child.stdin.on('error', () => undefined);
  const output = new EngineOutput(record.name, log, launch.pass);
  output.read(child.stdout);
  output.read(child.stderr);
  const ended = endOf(child, output);
  return {
    ready: readiness(child, ended),
    ended,
    processName: async () => {
      const { pid } = child;
      const startedAt = pid === undefined ? null : await readStartTime(pid);
      return startedAt === null ? null : { pid: pid!, startedAt };
    },
    signal: (kind) => void child.kill(kind),
  };
}

function environmentOf(launch: EngineLaunch, record: PodRecord, token: string): NodeJS.ProcessEnv {
  const machine = Object.entries(process.env).filter(([name]) => !NOT_FOR_ENGINES.test(name));
  const passed = PASSED_ON.map((name) => [name, process.env[name]] as const);
  return {
    ...Object.fromEntries([...machine, ...passed.filter(([, value]) => value !== undefined)]),
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

/** `close` comes after the last line of output, so that the complaint is complete; `exit` alone would be earlier. */
function endOf(child: ChildProcess, output: EngineOutput): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      if (child.pid === undefined) resolve(`it could not be started: ${error.message}`);
    });
    child.once('exit', (code, signal) => {
      const how = signal === null ? `exit code ${code}` : `ended by ${signal}`;
      const say = () => resolve(output.complaint === null ? how : `${how}: ${output.complaint}`);
      child.once('close', say);
      // A grandchild may hold the output open; the engine itself is gone all the same.
      setTimeout(say, 1000).unref();
    });
  });
}

function readiness(child: ChildProcess, ended: Promise<string>): Promise<void> {
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
