// Removes the state of `make run`, unless it is running.
import { readFileSync, rmSync } from 'node:fs';

function runningPid() {
  try {
    const pid = Number(readFileSync('.local/lock.pid', 'utf8'));
    process.kill(pid, 0);
    return pid;
  } catch {
    return undefined;
  }
}

const pid = runningPid();
if (pid) {
  process.stderr.write(`reset: make run is running (pid ${pid}). Stop it first.\n`);
  process.exit(1);
}
rmSync('.local', { recursive: true, force: true });
process.stdout.write('reset: removed .local\n');
