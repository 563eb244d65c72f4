import { Button, Group, Paper, SimpleGrid, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useAccount } from '../app/account';
import { toRecipient } from '../ui/person';
import { ProblemAlert } from '../ui/problem-alert';
import type { Instance } from './queries';

/** Sends a test message, and for a sandbox simulates a received one. */
export function TryNumber({ instance }: { instance: Instance }) {
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <TestMessage instanceId={instance.id} />
      {instance.kind === 'sandbox' && <Inbound instanceId={instance.id} />}
    </SimpleGrid>
  );
}

interface TextFormProps {
  title: string;
  help: string;
  phoneLabel: string;
  button: string;
  /** Returns what to show after success. */
  send: (phone: string, text: string) => Promise<ReactNode>;
}

function TextForm({ title, help, phoneLabel, button, send }: TextFormProps) {
  const { t } = useTranslation();
  const [phone, setPhone] = useState('');
  const [text, setText] = useState('');
  const attempt = useMutation({ mutationFn: () => send(toRecipient(phone), text) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt.mutate();
  };
  return (
    <Paper withBorder p="lg">
      <form onSubmit={submit}>
        <Stack>
          <Title order={2} size="h4">
            {title}
          </Title>
          <Text size="sm" c="dimmed">
            {help}
          </Text>
          <TextInput
            label={phoneLabel}
            placeholder="55 11 98765-4321"
            required
            value={phone}
            onChange={(event) => setPhone(event.currentTarget.value)}
          />
          <Textarea
            label={t('tryIt.text')}
            autosize
            minRows={3}
            required
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <ProblemAlert error={attempt.error} />
          <Group>
            <Button type="submit" loading={attempt.isPending}>
              {button}
            </Button>
            <Text role="status" size="sm">
              {attempt.data}
            </Text>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}

function TestMessage({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  const { gwk } = useAccount();
  const send = async (to: string, body: string) => {
    const message = { instance_id: instanceId, to, type: 'text' as const, text: { body, preview_url: true } };
    const { id } = await gwk.messages.send(message);
    return `${t('tryIt.accepted')} ${id}`;
  };
  return (
    <TextForm
      title={t('tryIt.sendTitle')}
      help={t('tryIt.sendHelp')}
      phoneLabel={t('tryIt.to')}
      button={t('tryIt.send')}
      send={send}
    />
  );
}

function Inbound({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  const { gwk } = useAccount();
  const send = async (from: string, text: string) => {
    const received = await gwk.instances.simulateInbound(instanceId, { from, text });
    return `${t('tryIt.received')} ${received.event_type}`;
  };
  return (
    <TextForm
      title={t('tryIt.inboundTitle')}
      help={t('tryIt.inboundHelp')}
      phoneLabel={t('tryIt.from')}
      button={t('tryIt.simulate')}
      send={send}
    />
  );
}
