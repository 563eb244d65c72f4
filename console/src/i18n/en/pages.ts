/** Messages, events, opt-outs, keys, profile and format status. */
export const messages = {
  title: 'Messages',
  subtitle: 'Sent and received messages, without their content.',
  new: 'Send a message',
  empty: 'No messages yet',
  emptyHelp: 'Send a message from here, or with the API. Received messages appear by themselves.',
  noneFound: 'No message matches these filters',
  noneFoundHelp: 'Remove a filter to see more.',
  contact: 'Contact',
  byId: 'Open by id (Enter)',
  type: 'Type',
  directions: { outbound: 'sent', inbound: 'received' },
  statuses: {
    queued: 'Waiting',
    sending: 'Sending',
    sent: 'Sent',
    delivered: 'Delivered',
    read: 'Read',
    failed: 'Failed',
  },
  types: {
    text: 'Text',
    image: 'Image',
    video: 'Video',
    document: 'Document',
    audio: 'Audio',
    sticker: 'Sticker',
    location: 'Location',
    contact: 'Contact card',
    interactive: 'Menu',
    poll: 'Poll',
    album: 'Album',
    other: 'Other',
  },
};

export const message = {
  title: 'Message',
  notKept: 'The gateway does not keep the content of messages after they were sent.',
  content: 'Content',
  timeline: 'Timeline',
  direction: 'Direction',
  renderedAs: 'Sent as',
  networkId: 'Network id',
  deliveries: 'Webhook deliveries',
  noDeliveries: 'No event of this message was delivered to a webhook.',
  steps: {
    created_at: 'Accepted',
    received: 'Received',
    scheduled_for: 'Scheduled for',
    sent_at: 'Sent',
    delivered_at: 'Delivered',
    read_at: 'Read',
    failed_at: 'Failed',
  },
  failures: {
    recipient_not_on_whatsapp: {
      title: 'The recipient has no WhatsApp account',
      advice: 'Check the number. Remove it from your list if it is right.',
    },
    media_unavailable: {
      title: 'The file could not be used',
      advice: 'Check that its address answers and that its format is allowed, then send again.',
    },
    not_connected: {
      title: 'The number is not connected',
      advice: 'Open the number to see why. Send again once it is connected.',
    },
    not_paired: { title: 'No phone is linked', advice: 'Link a phone to the number, then send again.' },
    opted_out: {
      title: 'The contact opted out',
      advice: 'Do not send again. The contact can opt in with the word VOLTAR.',
    },
    canceled: { title: 'The message was cancelled', advice: 'Someone cancelled it before it was sent.' },
    expired: {
      title: 'The message waited too long',
      advice: 'The number was not connected for 15 minutes. Send again if it still matters.',
    },
    wa_error: {
      title: 'WhatsApp refused the message',
      advice: 'Read the reason below. Check whether the number is restricted.',
    },
    timeout: {
      title: 'WhatsApp did not confirm the message',
      advice: 'It may have arrived. Ask the contact before you send it again.',
    },
    internal: {
      title: 'Internal error',
      advice: 'Send again. If it fails again, report the id to the operator of this gateway.',
    },
  },
};

export const send = {
  title: 'Send a message',
  subtitle: 'The same request that your application sends.',
  to: 'To',
  toHelp: 'Phone number with country and area code, or the id of a person or a group.',
  content: 'Content (JSON)',
  contentHelp: 'Files have a media_id of an upload, or a url.',
  invalid: 'The content is not valid JSON.',
  submit: 'Send',
  editor: 'Edit as',
  modes: { form: 'Form', json: 'JSON' },
  upload: 'Upload a file',
  uploaded: 'Uploaded: {{name}}',
  lines: 'One a line.',
  fields: {
    body: 'Text',
    caption: 'Caption',
    address: 'Address',
    name: 'Name',
    organization: 'Organization',
    footer: 'Footer',
    phones: 'Phone numbers',
    buttons: 'Buttons',
    options: 'Options',
    latitude: 'Latitude',
    longitude: 'Longitude',
    selectable: 'Options that a person may choose',
    preview_url: 'Preview of the first link',
    voice: 'Voice message',
    hd: 'In HD',
    round: 'Round video',
    media: 'File',
    url: 'Address of the file',
  },
};

export const events = {
  title: 'Events',
  subtitle: 'As they happen, newest first. The gateway keeps them for 90 days.',
  one: 'Event',
  type: 'Type',
  empty: 'No events',
  emptyHelp: 'Events appear here when a number connects or a message is sent or received.',
};

/** People, wherever they are searched or shown. */
export const person = {
  placeholder: 'Name, @username, phone or id',
  none: 'Nobody found',
  phoneOrId: 'Phone number or id',
};

export const optOuts = {
  title: 'Opt-outs',
  subtitle: 'Contacts who receive nothing more from any number of this account.',
  add: 'Add an opt-out',
  empty: 'No opt-outs found',
  emptyHelp: 'A contact who sends SAIR, PARAR or STOP appears here.',
  consent: 'Remove an opt-out only with the consent of the contact.',
  source: 'Source',
  sources: { keyword: 'word {{keyword}}', api: 'API', panel: 'console' },
  sandbox: 'in a sandbox only',
  remove: 'Remove',
  removeTitle: 'Remove the opt-out of {{person}}?',
  removeText: 'The contact can receive messages again. Do this only if the contact agreed.',
};

export const contactCheck = {
  title: 'Check a contact',
  help: 'Asks WhatsApp through a connected number whether a phone number or an id has an account.',
  submit: 'Check',
  exists: 'Has an account: {{person}}',
  absent: 'Has no account.',
};

export const keys = {
  title: 'API keys',
  subtitle: 'Keys for your applications. Each is shown only once, when it is created.',
  new: 'New API key',
  empty: 'No API keys yet',
  emptyHelp: 'Create one for each application, with only the scopes that it needs.',
  scopes: 'Scopes',
  nameHelp: 'For example the application that uses it.',
  numbersHelp: 'Restricts the key to these numbers.',
  lifetime: 'Expires',
  lifetimes: { never: 'Never', month: 'In 30 days', quarter: 'In 90 days', year: 'In a year' },
  created: 'The API key is ready',
  states: { active: 'Active', revoked: 'Revoked', expired: 'Expired' },
  restricted_one: 'one number',
  restricted_other: '{{count}} numbers',
  expires: 'expires',
  lastUsed: 'Last used',
  revoke: 'Revoke',
  revokeTitle: 'Revoke {{name}}?',
  revokeText: 'Applications with this key are refused within 2 seconds. This cannot be undone.',
};

/** The page that `gwk login` opens. */
export const approveKey = {
  title: 'API key for the command line',
  asks: 'A program on this computer asks for a key. It calls itself “{{name}}”. You are {{email}}.',
  code: 'Code in the terminal',
  compare: 'Approve only if your own terminal shows the same code. Otherwise close this page.',
  approve: 'Approve',
  approved: 'Approved. Go on in the terminal.',
  malformed: 'This address is not complete. Run gwk login again.',
};

export const scopes = {
  'instances:read': 'List numbers, their health and availability; check contacts',
  'instances:write': 'Create, link, change and delete numbers',
  'messages:send': 'Send, edit and delete messages; mark as read; opt-outs',
  'messages:read': 'Read messages and opt-outs',
  'media:write': 'Upload files',
  'webhooks:read': 'Read webhook endpoints and deliveries',
  'webhooks:write': 'Manage webhook endpoints and retry deliveries',
  'events:read': 'Read events',
};

export const profile = {
  title: 'Profile',
  name: 'Name',
  nameHelp: 'Other members see it.',
  password: 'Password',
  passwordHelp: 'A change ends all your other sessions.',
  current: 'Current password',
  next: 'New password',
  nextHelp: 'At least 12 characters.',
  sessions: 'Sessions',
  sessionsHelp: 'Browsers in which you are signed in.',
  browser: 'Browser',
  lastSeen: 'Last seen',
  thisSession: 'This session',
  end: 'End',
  endTitle: 'End this session?',
  endText: 'That browser must sign in again.',
};

export const secondFactor = {
  title: 'Second factor',
  help: 'A code of an app on your phone, in addition to the password.',
  active: 'The second factor is active. Each sign-in asks for a code.',
  password: 'Password for the second factor',
  start: 'Set up the second factor',
  scan: 'Scan this code with an authenticator app.',
  qr: 'QR code for the authenticator app',
  secret: 'Or type this secret into the app:',
  codeHelp: 'The six digits that the app shows.',
  done: 'The second factor is active',
  backupHelp: 'Each backup code replaces one code of the app, for example if you lose the phone.',
  remove: 'Remove the second factor',
  removeTitle: 'Remove the second factor?',
  removeText: 'Sign-ins then ask for no code. The backup codes no longer work.',
};

export const formats = {
  title: 'Format status',
  subtitle: 'Which menu formats the apps show at present.',
  rate: '{{percent}} of the checks of 30 days succeeded',
  names: {
    native_flow_buttons: 'Buttons (native flow)',
    native_flow_list: 'List (native flow)',
    legacy_buttons: 'Buttons (old format)',
    legacy_list: 'List (old format)',
    text_menu: 'Menu as text',
  },
  devices: { android: 'Android', iphone: 'iPhone', web: 'WhatsApp Web' },
  states: { works: 'works', partial: 'partly', broken: 'broken', unknown: 'not checked' },
  edit: 'Record a check',
  editOf: 'Record a check: {{format}}, {{device}}',
  status: 'Result',
  appVersion: 'App version',
  version: 'version {{version}}',
  note: 'Note',
  noteHelp: 'Everybody can read it.',
  by: 'by {{author}}',
};
