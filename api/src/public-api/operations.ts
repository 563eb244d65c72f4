import { availabilityOperations } from '../instances/availability/operations.js';
import { optOutOperations } from '../contacts/operations.js';
import { conversationOperations } from '../conversations/operations.js';
import { eventOperations } from '../events/operations.js';
import { inboundOperations } from '../inbound/operations.js';
import { instanceOperations } from '../instances/operations.js';
import { policyOperations } from '../instances/policy.js';
import { interactiveStatusOperations } from '../messages/interactive-status/operations.js';
import { mediaOperations } from '../media/operations.js';
import { liveOperations } from '../live/operations.js';
import { messageOperations } from '../messages/operations.js';
import { healthOperations } from '../instances/health.js';
import { pairingOperations } from '../instances/pairing/operations.js';
import { passkeyPairingOperations } from '../instances/pairing/passkey.js';
import { webhookOperations } from '../webhooks/operations.js';
import { accountOperations } from '../console/account.js';
import { accountPolicyOperations } from '../console/account-policy.js';
import { auditLogOperations } from '../console/audit-log/operations.js';
import { acceptanceOperations } from '../people/accept-invitation.js';
import { consoleDeliveryOperations } from '../console/deliveries.js';
import { consoleEndpointOperations } from '../console/endpoints.js';
import { instanceListOperations } from '../console/list-instances.js';
import { alertContactOperations } from '../console/alert-contacts/operations.js';
import { invitationOperations } from '../people/invitations.js';
import { keyApprovalOperations } from '../console/key-approvals.js';
import { keyOperations } from '../console/keys.js';
import { memberOperations } from '../people/members.js';
import { overviewOperations } from '../console/overview.js';
import { peopleOperations } from '../people/people.js';
import { platformAccountOperations } from '../console/platform/accounts.js';
import { deviceCheckOperations } from '../console/platform/device-checks.js';
import { networkVersionOperations } from '../console/platform/network-version.js';
import { platformInstanceOperations } from '../console/platform/instances.js';
import { passwordResetOperations } from '../people/password-reset/operations.js';
import { portalHandoffOperations } from '../people/portal-handoffs.js';
import { profileOperations } from '../people/profile.js';
import { totpOperations } from '../people/totp.js';
import { providerOperations } from '../people/oidc/operations.js';
import { passkeyOperations } from '../people/passkeys/operations.js';
import { passkeySignInOperations } from '../people/passkeys/sign-in.js';
import { signInOperations } from '../people/sign-in/operations.js';
import type { Operation } from '../http/operation.js';

/**
 * The table of operations. The router tries routes in this order, so the busiest come first.
 */
export const OPERATIONS: readonly Operation[] = [
  ...messageOperations,
  ...mediaOperations,
  ...instanceOperations,
  ...healthOperations,
  ...availabilityOperations,
  ...interactiveStatusOperations,
  ...policyOperations,
  ...pairingOperations,
  ...passkeyPairingOperations,
  ...liveOperations,
  ...inboundOperations,
  ...conversationOperations,
  ...optOutOperations,
  ...eventOperations,
  ...webhookOperations,
];

/** The table of operations of the console, which accept sessions instead of keys. */
export const CONSOLE_OPERATIONS: readonly Operation[] = [
  ...signInOperations,
  ...portalHandoffOperations,
  ...passwordResetOperations,
  ...accountOperations,
  ...overviewOperations,
  ...instanceListOperations,
  ...peopleOperations,
  ...consoleEndpointOperations,
  ...consoleDeliveryOperations,
  ...keyOperations,
  ...keyApprovalOperations,
  ...profileOperations,
  ...totpOperations,
  ...providerOperations,
  ...passkeySignInOperations,
  ...passkeyOperations,
  ...memberOperations,
  // Before the invitations, whose ids its path would match.
  ...acceptanceOperations,
  ...invitationOperations,
  ...platformAccountOperations,
  ...platformInstanceOperations,
  ...deviceCheckOperations,
  ...networkVersionOperations,
  ...alertContactOperations,
  ...accountPolicyOperations,
  ...auditLogOperations,
];
