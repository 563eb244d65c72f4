import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';

const ofThis = ['--pid', String(process.pid)];
/** The number that no new handle may reach. */
const NONE = 3;
/** Arguments of prlimit(1), after which this process cannot open a file. */
export const TAKE_ALL = [...ofThis, `--nofile=${NONE}:`];

/** Runs work that may let this process lose its file handles. Returns them afterwards. */
export async function returnFileHandles<T>(work: () => Promise<T>): Promise<T> {
  const columns = ['--nofile', '--output=SOFT', '--noheadings', '--raw'];
  const before = execFileSync('prlimit', [...ofThis, ...columns], { encoding: 'utf8' }).trim();
  // It runs already, because a process without handles starts no other.
  const helper = spawn('sh', ['-c', `read line; prlimit ${ofThis.join(' ')} --nofile=${before}:`]);
  await once(helper, 'spawn');
  try {
    return await work();
  } finally {
    helper.stdin.end('\n');
    await once(helper, 'close');
  }
}

/** Runs work while this process can open no file. */
export const withoutFileHandles = <T>(work: () => Promise<T>): Promise<T> =>
  returnFileHandles(() => {
    execFileSync('prlimit', TAKE_ALL);
    return work();
  });
