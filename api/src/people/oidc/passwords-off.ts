import { Problem } from '@gwk/core/problems/problems';
import type { ApiConfig } from '../../http/services.js';

/**
 * With passwords off the provider decides who signs in, so nothing that a person keeps may replace it: neither a password
 * nor a passkey alone. One-time links remain, because an operator or a portal makes each of them.
 * @throws Problem `passwords-off`
 */
export function requirePasswords({ oidcPasswords }: Pick<ApiConfig, 'oidcPasswords'>): void {
  if (!oidcPasswords) throw new Problem('passwords-off');
}
