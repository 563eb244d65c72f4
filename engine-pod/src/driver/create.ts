import type { InstanceKind } from '@gwk/core/states';
import { AbsentDriver } from './absent.js';
import type { Driver, DriverContext } from './driver.js';
import { SandboxDriver } from './sandbox.js';

export function createDriver(
  kind: InstanceKind,
  context: DriverContext,
  sandboxNetwork: string | undefined,
): Driver {
  return kind === 'sandbox' ? new SandboxDriver(context, sandboxNetwork) : new AbsentDriver();
}
