export const team = {
  title: 'Team',
  subtitle: 'People who use this account, with their roles.',
  invite: 'Invite a person',
  send: 'Invite',
  role: 'Role',
  roleOf: 'Role of {{name}}',
  secondFactor: 'Second factor',
  numbersHelp: 'Restricts the person to these numbers.',
  invitations: 'Open invitations',
  invited: '{{email}} is invited',
  emailed:
    'An e-mail with the link is on its way. You can also send this link yourself. It works once, for 7 days, and is shown only now.',
  notEmailed:
    'No e-mail was sent, because the person got one within the last hour or the server did not accept it. Send this link to the person yourself. It works once, for 7 days, and is shown only now. A link that this account has e-mailed to the person before works too.',
  link: 'Send this link to the person. It works once, for 7 days, and is shown only now.',
  remove: 'Remove',
  removeTitle: 'Remove {{name}} from the account?',
  removeText: 'The person loses access within 2 seconds. API keys keep working.',
  withdraw: 'Withdraw',
  withdrawTitle: 'Withdraw the invitation?',
  withdrawText: 'Its link no longer works.',
  roles: {
    owner: { name: 'Owner', help: 'Everything, and other owners.' },
    admin: { name: 'Administrator', help: 'Everything but owners.' },
    developer: { name: 'Developer', help: 'Keys, webhooks, messages and events.' },
    agent: { name: 'Agent', help: 'Reads numbers, sends and reads messages, opt-outs.' },
    viewer: { name: 'Viewer', help: 'Reads only.' },
  },
};

export const invitation = {
  title: 'Invitation',
  help: 'Choose your name and a password to join the account.',
  byProvider:
    'Sign in with {{name}} and the e-mail of the invitation to join the account. If you have another account here, open the link again afterwards.',
  signedIn: 'Join the account as {{email}}.',
  accept: 'Join',
};
