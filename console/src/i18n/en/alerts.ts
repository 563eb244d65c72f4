/** Alert contacts, the audit log and the policy of the account. */
export const alertContacts = {
  title: 'Alert contacts',
  subtitle:
    'People who receive a message when a number is logged out, banned or down for 5 minutes, or a webhook is disabled. At most 10.',
  add: 'Add a contact',
  empty: 'Nobody receives alerts yet',
  emptyHelp: 'Add a contact. The person receives a code, and alerts once you enter it here.',
  channel: 'Channel',
  channels: { email: 'E-mail', whatsapp: 'WhatsApp' },
  addresses: { email: 'E-mail', whatsapp: 'Phone number with country code, or id' },
  unavailable: {
    email: 'This gateway has no SMTP server, so it sends no e-mails.',
    whatsapp: 'No number of the account is connected, so it sends no alerts by WhatsApp.',
  },
  language: 'Language',
  sendCode: 'Send the code',
  verified: 'Verified',
  codeOf: 'Code of {{name}}',
  verify: 'Verify',
  resend: 'Send another code',
  resent: 'Another code is on its way.',
  remove: 'Remove',
  removeTitle: 'Remove {{name}}?',
  removeText: 'The contact receives no more alerts.',
};

export const auditLog = {
  title: 'Audit log',
  subtitle: 'Who changed what in this account, and sign-ins of its members.',
  export: 'Export as CSV',
  filters: { actor: 'Who', action: 'Operation', subject: 'Object', since: 'From', until: 'To' },
  detail: 'Details',
  empty: 'No entries',
  emptyHelp: 'No change matches these filters.',
};

export const accountPolicy = { title: 'Limits of all numbers', link: 'Limits of all numbers' };
