/** The page of one number, its pairing and its policy. */
export const number = {
  pair: 'Link a phone',
  tabs: {
    health: 'Health',
    availability: 'Availability',
    policy: 'Limits',
    try: 'Try it',
    settings: 'Settings',
  },
  help: {
    pending_pair: 'No phone is linked. Link one to send and receive.',
    disconnected:
      'The connection is lost. The gateway tries again by itself; messages wait up to 15 minutes.',
    logged_out: 'The phone unlinked this device. Link it again to send and receive.',
    banned: 'WhatsApp blocked this number. The gateway stays offline until the block ends.',
  },
  settings: {
    title: 'Name and menus',
    help: 'The name is shown to your team only.',
    mode: 'How menus are sent',
    modeHelp: 'Native menus show buttons. The text is for apps that do not show them.',
    modes: {
      'native+text': 'Native, with the options as text',
      native: 'Native only',
      text: 'Text only',
    },
    otherAccount: 'When a phone with another account scans the code',
    otherAccountHelp: 'After another account is linked, queued messages fail and the warm-up starts again.',
    otherAccounts: { refuse: 'Refuse it', accept: 'Accept it and start again' },
  },
  connection: {
    title: 'Connection',
    help: 'A restart closes the connection and opens it again. Log out unlinks the phone.',
    restart: 'Restart',
    restarted: 'The connection restarts.',
    logout: 'Log out',
    logoutTitle: 'Log out {{name}}?',
    logoutText: 'The phone is unlinked. Messages that wait fail, and someone must link a phone again.',
  },
  delete: {
    title: 'Delete',
    help: 'Unlinks the phone and deletes the number. Sent messages can no longer be found.',
    button: 'Delete number',
    confirm: 'Delete {{name}}?',
    text: 'This cannot be undone.',
  },
};

export const availability = {
  previous: 'Previous month',
  next: 'Next month',
  month: 'Connected {{percent}} of the month.',
  none: 'No data for this month.',
  noData: 'no data',
  noIncidents: 'No incidents in this month.',
  incidents: 'Incidents',
  start: 'Start',
  duration: 'Duration',
  ongoing: 'ongoing',
  reason: 'Reason',
};

export const policy = {
  intro: {
    instance: 'Limits of this number. A value of its own replaces that of the account and of the gateway.',
    account: 'Limits of all numbers of this account. A number can have values of its own.',
  },
  own: { instance: 'Own value for this number', account: 'Own value for this account' },
  sources: { environment: 'from the gateway', account: 'from the account', instance: 'from this number' },
  keys: {
    messages_per_minute: {
      title: 'Messages per minute',
      help: 'Further messages wait.',
    },
    new_contacts_per_day: {
      title: 'New contacts in 24 hours',
      help: 'Contacts who never wrote to this number. Further ones are refused.',
    },
    mass_block: {
      title: 'Mass block',
      help: 'Refuses nearly the same text to more new contacts than this within the time.',
    },
    active_hours: {
      title: 'Active hours',
      help: 'When contacts who did not write in the last 24 hours may receive messages.',
    },
    opt_out: {
      title: 'Opt-out words',
      help: 'A contact who sends one of these words receives nothing more.',
    },
    menu_ttl_hours: {
      title: 'Typed replies to menus (hours)',
      help: 'How long the number of an option is recognised as the reply.',
    },
    reject_calls: {
      title: 'Calls',
      help: 'Rejects calls while they ring, and can answer the caller with a text.',
    },
  },
  fields: {
    contacts: 'Contacts',
    minutes: 'Minutes',
    limitHours: 'Only within a window',
    start: 'Start',
    end: 'End',
    timezone: 'Time zone',
    outside: 'Outside the window',
    schedule: 'Schedule for its start',
    reject: 'Refuse',
    recognise: 'Recognise these words',
    keywords: 'Words that opt out',
    resume: 'Words that opt in again',
    rejectCalls: 'Reject calls',
    callText: 'Text to the caller (optional)',
  },
};

export const tryIt = {
  sendTitle: 'Send a test message',
  sendHelp: 'A real message, under the limits of this number.',
  to: 'To (with country and area code)',
  text: 'Text',
  send: 'Send',
  accepted: 'Accepted:',
  inboundTitle: 'Simulate a received message',
  inboundHelp: 'The sandbox behaves as if a contact had written. Webhooks receive the event.',
  from: 'From (with country and area code)',
  simulate: 'Simulate',
  received: 'Event:',
};

const VERSION_REJECTED =
  'WhatsApp links no device with the client version of this gateway. Its administrator must act.';

export const pairing = {
  title: 'Link a phone to {{name}}',
  method: 'Way to link',
  qr: 'QR code',
  code: 'Typed code',
  qrAlt: 'QR code to scan with the phone',
  remaining: 'Remaining time of the code',
  expires: 'Valid for {{seconds}} s. The next code appears by itself.',
  renewing: 'The next code is coming.',
  opening: 'Asking the network for a code',
  paired: 'The phone accepted. Connecting',
  phone: 'Number of the phone',
  phoneHelp: 'With country and area code.',
  ask: 'Get a code',
  failed: 'The phone was not linked',
  again: 'Try again',
  connected: 'The phone is linked',
  connectedHelp: '{{name}} is connected with this number and can send and receive.',
  undo: 'Not this number: unlink ({{seconds}} s)',
  undone: 'The phone is unlinked',
  undoneHelp: 'Show the next code only to the person who links the phone.',
  open: 'Open the number',
  steps: {
    title: 'On the phone',
    open: 'Open WhatsApp, then the menu (Android) or Settings (iPhone).',
    devices: 'Tap Linked devices, then Link a device.',
    scan: 'Point the camera at the code on this page.',
    type: 'Tap "Link with phone number instead" and type the code.',
  },
  hints: {
    devices: 'A phone can have four linked devices. Unlink one if the code is not accepted.',
    online: 'The phone must be online now, and again at least once in 14 days.',
    risk: 'WhatsApp can restrict or ban numbers that use unofficial clients. Start with few messages.',
  },
  passkey: {
    title: 'The phone asks for its passkey',
    install:
      'Once: add the browser extension of gwk to Chrome, Edge or another browser of the same kind. It is the folder "extension" in the source archive of the gwk release. Do not take it from this gateway or a chat.',
    press: 'Press the button of the extension in the toolbar of the browser, on this page.',
    check:
      'Check the address and the number in its window, and continue. The browser then asks for the passkey of the WhatsApp account.',
    until: 'Valid until {{time}}. Never run code that somebody sends you for this.',
    answered: 'The passkey is given. Waiting for the phone.',
    elsewhere:
      'The phone waits until {{time}}. If another browser or program started this pairing, the passkey must be given there.',
    compare: 'Compare this code with the one on the phone.',
    equal: 'The codes are equal',
    different: 'The codes differ',
  },
  reasons: {
    codes_unread:
      'Nobody scanned the codes in time. A phone with four linked devices scans nothing: unlink one first.',
    passkey_required:
      'The phone demands a passkey, and this gateway does not permit passkeys. Use another phone.',
    passkey_refused: 'WhatsApp did not accept the passkey, or the codes differed.',
    passkey_expired: 'Nobody answered the request for the passkey in time.',
    passkey_unsupported: 'WhatsApp asked for the passkey in an unknown way.',
    passkey_interrupted: 'The connection ended while the passkey was awaited. Try again.',
    refused_by_the_network: 'WhatsApp links no device with this number at the moment. Try again later.',
    signature_refused: 'The account did not confirm the device. Try again.',
    no_code_given: 'WhatsApp gave no code for this number. Check the number.',
    code_refused: 'WhatsApp accepts no typed code for this number. Check it, or use the QR code.',
    too_many_codes: 'WhatsApp gives no more typed codes for now. Wait, or use the QR code.',
    version_rejected_405: VERSION_REJECTED,
    version_rejected_409: VERSION_REJECTED,
    timed_out: 'WhatsApp did not answer in time. Try again.',
    connection_closed: 'The connection to WhatsApp failed four times. Try again.',
  },
};
