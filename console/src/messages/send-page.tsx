import {
  Button,
  Group,
  JsonInput,
  Paper,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { useAccount } from '../app/account';
import { CopyText } from '../ui/copy-text';
import { useFilter } from '../ui/filters';
import { InstanceSelect } from '../ui/instance-select';
import { PageHeader } from '../ui/page-header';
import { toRecipient } from '../ui/person';
import { ProblemAlert } from '../ui/problem-alert';
import { ContentForm } from './content-form';
import type { Content } from './file-field';
import { EXAMPLES, MESSAGE_TYPES, type MessageType, type SendBody } from './examples';

const format = (value: object): string => JSON.stringify(value, null, 2);

/** Sends a message of any type, and shows the request that does it. */
export default function SendPage() {
  const { t } = useTranslation();
  const { path } = useAccount();
  const [instance, setInstance] = useFilter('number');
  const [to, setTo] = useState('');
  const [type, setType] = useState<MessageType>('text');
  const [content, setContent] = useState(format(EXAMPLES.text));
  const body = buildBody({ instance, to, type, content });
  return (
    <>
      <PageHeader
        title={t('send.title')}
        subtitle={t('send.subtitle')}
        back={{ to: path('messages'), label: t('messages.title') }}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl">
        <SendForm body={body}>
          <InstanceSelect value={instance} onChange={setInstance} required />
          <TextInput
            label={t('send.to')}
            description={t('send.toHelp')}
            placeholder="5511987654321"
            required
            value={to}
            onChange={(event) => setTo(event.currentTarget.value)}
          />
          <Select
            label={t('messages.type')}
            data={MESSAGE_TYPES.map((value) => ({ value, label: t(`messages.types.${value}`) }))}
            value={type}
            allowDeselect={false}
            onChange={(value) => {
              if (value === null) return;
              setType(value);
              setContent(format(EXAMPLES[value]));
            }}
          />
          <ContentEditor type={type} content={content} setContent={setContent} />
        </SendForm>
        <Request body={body} />
      </SimpleGrid>
    </>
  );
}

interface ContentEditorProps {
  type: MessageType;
  content: string;
  setContent: (content: string) => void;
}

/** The content as a form, or as JSON for the fields that the form does not have. */
function ContentEditor({ type, content, setContent }: ContentEditorProps) {
  const { t } = useTranslation();
  const [mode, setMode] = useState<'form' | 'json'>('form');
  const parsed = parseContent(content);
  const isForm = mode === 'form' && parsed !== null && !Array.isArray(parsed);
  return (
    <Stack>
      <SegmentedControl
        aria-label={t('send.editor')}
        data={(['form', 'json'] as const).map((value) => ({ value, label: t(`send.modes.${value}`) }))}
        value={isForm ? 'form' : 'json'}
        onChange={setMode}
      />
      {isForm ? (
        <ContentForm
          type={type}
          content={parsed as Content}
          onChange={(changed) => setContent(format(changed))}
        />
      ) : (
        <JsonInput
          label={t('send.content')}
          description={t('send.contentHelp')}
          validationError={t('send.invalid')}
          autosize
          minRows={6}
          maxRows={24}
          formatOnBlur
          required
          value={content}
          onChange={setContent}
        />
      )}
    </Stack>
  );
}

/** Returns null for a text that is no JSON object or array. */
function parseContent(text: string): object | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

interface Draft {
  instance: string | null;
  to: string;
  type: MessageType;
  content: string;
}

/** Returns null while the content is no JSON object or array. */
function buildBody({ instance, to, type, content }: Draft): SendBody | null {
  const parsed = parseContent(content);
  return (
    parsed && {
      instance_id: instance ?? '',
      to: toRecipient(to),
      type,
      [type]: parsed,
    }
  );
}

function SendForm({ body, children }: { body: SendBody | null; children: React.ReactNode }) {
  const { t } = useTranslation();
  const { gwk, path } = useAccount();
  const navigate = useNavigate();
  const attempt = useMutation({
    mutationFn: (message: SendBody) => gwk.messages.send(message),
    onSuccess: ({ id }) => void navigate(path(`messages/${id}`)),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (body) attempt.mutate(body);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {children}
        <ProblemAlert error={attempt.error} />
        <Group>
          <Button type="submit" loading={attempt.isPending} disabled={body === null}>
            {t('send.submit')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Request({ body }: { body: SendBody | null }) {
  const { t } = useTranslation();
  if (body === null) return <Text c="dimmed">{t('send.invalid')}</Text>;
  const json = format(body);
  // A single quote ends the text for the shell.
  const quoted = json.replaceAll("'", String.raw`'\''`);
  const curl = [
    `curl ${location.origin}/v1/messages \\`,
    `  -H "Authorization: Bearer $GWK_API_KEY" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -H "Idempotency-Key: $(uuidgen)" \\`,
    `  -d '${quoted}'`,
  ].join('\n');
  return (
    <Paper withBorder p="lg" component="section">
      <Stack>
        <Title order={2} size="h4">
          JSON
        </Title>
        <CopyText text={json} block />
        <Title order={2} size="h4">
          curl
        </Title>
        <CopyText text={curl} block />
      </Stack>
    </Paper>
  );
}
