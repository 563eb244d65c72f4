/** Sign-in, navigation, errors and words of all pages. */
export const common = {
  loading: 'Loading',
  retry: 'Retry',
  cancel: 'Cancel',
  close: 'Close',
  save: 'Save',
  saved: 'Saved.',
  create: 'Create',
  delete: 'Delete',
  copy: 'Copy',
  copied: 'Copied',
  more: 'Load more',
  never: 'never',
  all: 'All',
  none: 'None',
  yes: 'Yes',
  no: 'No',
  actions: 'Actions',
  name: 'Name',
  state: 'State',
  kind: 'Kind',
  phone: 'Phone',
  time: 'Time',
  number: 'Number',
  numbers: 'Numbers',
  created: 'Created',
  allNumbers: 'All numbers',
  shownOnce: 'This is shown only now. Copy it to a safe place.',
  typeName: 'Type {{name}} to confirm',
};

export const signIn = {
  title: 'Sign in',
  email: 'E-mail',
  password: 'Password',
  submit: 'Sign in',
  help: 'Forgot your password? Ask the administrator of this gateway to reset it.',
  codeTitle: 'Second factor',
  code: 'Code',
  codeHelp: 'Enter the six digits of your authenticator app, or a backup code.',
  confirm: 'Confirm',
  back: 'Back to e-mail and password',
};

export const handoff = {
  title: 'Signing in',
  failed:
    'A sign-in link works once and only for a short time. Request another one, or sign in on the sign-in page.',
  signIn: 'Go to the sign-in',
  other: 'Link of another person',
  question:
    'You are signed in as {{former}}. This link signs in {{email}} and ends your session here. Continue only if you expected the link.',
  continue: 'Continue as {{email}}',
  stay: 'Stay signed in as {{email}}',
};

export const noAccount = {
  title: 'No account yet',
  text: '{{email}} is not a member of any account. Ask an owner of the account to invite you.',
};

export const notFound = {
  title: 'Page not found',
  text: 'This page does not exist, or you may not see it.',
  home: 'Go to the start page',
};

export const noAccess = {
  title: 'This page is not part of your role',
  text: 'Ask an owner or administrator of the account for another role, or for access to all numbers.',
};

export const routeError = {
  title: 'The page could not be loaded',
  text: 'The console was probably updated. Load it again to get the new version.',
  reload: 'Load again',
};

export const shell = {
  menu: 'Menu',
  navigation: 'Main navigation',
  account: 'Account',
  language: 'Language',
  useLight: 'Use light colours',
  useDark: 'Use dark colours',
  user: 'Your user',
  signOut: 'Sign out',
  nav: {
    overview: 'Overview',
    numbers: 'Numbers',
    conversations: 'Conversations',
    messages: 'Messages',
    optOuts: 'Opt-outs',
    webhooks: 'Webhooks',
    events: 'Events',
    keys: 'API keys',
    team: 'Team',
    account: 'Account',
    alertContacts: 'Alert contacts',
    auditLog: 'Audit log',
    formats: 'Format status',
  },
  mfaTitle: 'Set up a second factor',
  mfaText: 'Your access requires a second factor. All pages open once you have set it up here.',
  profile: 'Profile',
};

export const problems = {
  unexpected: 'Unexpected error',
  unreachable: 'The gateway cannot be reached',
  requestId: 'Request id',
  more: 'About this error',
  advice: {
    network: 'Check your connection, then try again.',
    unauthorized: 'Sign in again.',
    forbidden: 'Your role does not allow this. Ask an owner or administrator of the account.',
    noAccount:
      'You are not a member of this account. Ask one of its owners or administrators for an invitation.',
    suspended:
      'The account is suspended. It can read, but neither send nor create anything. Contact the operator of this gateway.',
    wait: 'Wait {{duration}}, then try again.',
    credentials: 'Check e-mail and password.',
    passwordsOff: 'Sign in with the provider of your organization.',
    factorLink:
      'Ask for a new password on the sign-in page and sign in within 30 minutes, or ask an administrator for a link.',
    recentSignIn: 'Sign out, sign in again, then repeat it within 15 minutes.',
    tooManyPasskeys: 'Remove a passkey that you do not use.',
    code: 'Check the code. If an app made it, check the clock of your phone too.',
    signInAgain: 'The sign-in took too long. Enter e-mail and password again.',
    secondFactor: 'Set up a second factor in your profile first.',
    userExists: 'This e-mail has a user already. Sign in with it, then join.',
    handoff: 'The link was used already or is too old. Request another one.',
    invitation: 'The invitation was used, withdrawn, or is older than 7 days. Ask for another one.',
    password:
      'Use at least 12 characters: some words that do not belong together, not only common words, your e-mail or one word with digits.',
    reload: 'The page is out of date. Load it again, then repeat the change.',
    origin: 'Open the console at its own address.',
    notFound: 'It was deleted, or you may not see it. Go back to the list.',
    retry: 'Try again. If it fails again, report the request id to the operator of this gateway.',
    lastOwner: 'Make another member owner first.',
    correct: 'Correct the values, then try again.',
  },
};
