import { Problem } from '@gwk/core/problems/problems';

/**
 * The rule of a suspended account for each operation that changes something: nothing new begins or is sent, and what exists
 * can be read, reduced and protected. `own`: the operation decides itself, because its order of problems is documented, or
 * because the caller has no account yet.
 */
const WHILE_SUSPENDED: Readonly<Record<string, 'refused' | 'works' | 'own'>> = {
  uploadMedia: 'refused',
  simulateInbound: 'refused',
  createOptOut: 'works',
  deleteOptOut: 'works',
  createInstance: 'refused',
  updateInstance: 'works',
  deleteInstance: 'works',
  startPairing: 'refused',
  answerPasskey: 'refused',
  confirmPasskey: 'refused',
  logoutInstance: 'works',
  restartInstance: 'works',
  markRead: 'refused',
  setPresence: 'refused',
  sendMessage: 'own',
  editMessage: 'own',
  reactToMessage: 'own',
  // Takes a message back, and adds none.
  deleteMessage: 'works',
  createWebhookEndpoint: 'refused',
  testWebhookEndpoint: 'refused',
  // Works only to disable it: a new URL would be a new receiver.
  updateWebhookEndpoint: 'own',
  deleteWebhookEndpoint: 'works',
  // A secret that leaked must be replaced.
  rotateWebhookSecret: 'works',
  retryFailedWebhookDeliveries: 'refused',
  retryWebhookDelivery: 'refused',
  createKey: 'refused',
  createKeyApproval: 'refused',
  redeemKeyApproval: 'own',
  revokeKey: 'works',
  createInvitation: 'refused',
  revokeInvitation: 'works',
  acceptInvitation: 'own',
  // A change can give rights. `removeMember` takes all of them.
  updateMember: 'refused',
  removeMember: 'works',
  createAlertContact: 'refused',
  sendAlertContactCode: 'refused',
  verifyAlertContact: 'refused',
  removeAlertContact: 'works',
  updateAccount: 'works',
  updateAccountPolicy: 'works',
  // People have their user in all accounts, and the platform decides about the suspension.
  signIn: 'works',
  showHandoff: 'works',
  signInByHandoff: 'works',
  signInByCode: 'works',
  signOut: 'works',
  startProviderSignIn: 'works',
  finishProviderSignIn: 'works',
  startPasskeySignIn: 'works',
  signInByPasskey: 'works',
  startPasskeyFactor: 'works',
  completeByPasskey: 'works',
  requestPasswordReset: 'works',
  resetPassword: 'works',
  createHandoff: 'works',
  updateProfile: 'works',
  changePassword: 'works',
  endSession: 'works',
  startTotp: 'works',
  confirmTotp: 'works',
  removeTotp: 'works',
  startPasskey: 'works',
  createPasskey: 'works',
  removePasskey: 'works',
  createPlatformAccount: 'works',
  updatePlatformAccount: 'works',
  setDeviceCheck: 'works',
  pinNetworkVersion: 'works',
};

/** Undefined: the operation is in no row. */
export const findRule = (name: string): 'refused' | 'works' | 'own' | undefined => WHILE_SUSPENDED[name];

export const listRules = (): string[] => Object.keys(WHILE_SUSPENDED);

/** @throws Problem `account-suspended` if the operation makes or sends something new */
export function checkSuspension({ name }: { name: string }, { suspended }: { suspended: boolean }): void {
  if (suspended && findRule(name) === 'refused') throw newSuspensionProblem();
}

export const newSuspensionProblem = (): Problem =>
  new Problem('account-suspended', {
    detail: {
      pt: 'A conta está suspensa; nada novo pode ser criado ou enviado.',
      en: 'The account is suspended; nothing new can be created or sent.',
    },
  });
