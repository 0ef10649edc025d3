/* corpus.c -- the built-in library: short abstracts written for this demo. The
 * articles, the people and the findings are invented; nothing here is science. */
#include "tool/demo/library.h"

const struct article CORPUS[] = {
    /* gene editing */
    { "A gentler cut: CRISPR base editing without double-strand breaks", "Okafor, Lindqvist, Tan",
      2022,
      "We compare base editors with the classic CRISPR-Cas9 scissors in human cell lines. Changing "
      "single letters "
      "without cutting both strands reduced unwanted rearrangements to a twentieth, at the price "
      "of a narrower "
      "choice of targets.",
      "gene editing genome DNA Cas9" },
    { "Finding the off-target effects of CRISPR-Cas9 before they matter", "Moreau, Haddad", 2021,
      "Guides that look unique can still bind elsewhere. A two-hour sequencing assay ranks the "
      "likely wrong sites "
      "of a CRISPR guide and agreed with whole-genome sequencing in 94 of 100 cases.",
      "gene editing genome safety" },
    { "Delivering CRISPR to the liver with lipid nanoparticles", "Sato, Brandt, Nkemelu", 2023,
      "A single infusion of lipid nanoparticles carried CRISPR editors into mouse liver and "
      "lowered a blood "
      "protein for a year. Dose, not particle size, decided how many cells were edited.",
      "gene editing therapy delivery" },
    { "Drought-tolerant rice by CRISPR: three seasons in the field", "Phan, Castillo, Ito", 2020,
      "Rice edited with CRISPR at two stress genes was grown for three seasons in dry fields. "
      "Yields fell by 11 "
      "percent where the parent line lost 31 percent, and no foreign DNA remained in the seeds.",
      "gene editing agriculture crops plants climate" },
    { "CRISPR diagnostics on paper: reading a virus in forty minutes", "Adeyemi, Kowalski", 2021,
      "A paper strip with freeze-dried CRISPR enzymes turns blue when it meets the RNA of a target "
      "virus. It needs "
      "body heat, no electricity, and found 9 of 10 infections that the laboratory found.",
      "testing diagnostics virus Cas12 Cas13" },
    { "Who decides? Public views on germline gene editing in nine countries",
      "Fernandes, Wu, O'Hara", 2019,
      "We asked 18,000 people what should be allowed. Support for curing disease by gene editing "
      "was broad, "
      "support for enhancement was rare, and trust in the deciding institution explained more than "
      "religion or "
      "education.",
      "ethics society CRISPR heritable" },
    { "Prime editing writes longer corrections into stem cells", "Larsen, Gupta", 2024,
      "Prime editing, a younger relative of CRISPR-Cas9, inserted up to 80 letters into blood stem "
      "cells. The "
      "corrected cells kept dividing normally for 16 weeks after transplantation in mice.",
      "gene editing genome therapy" },
    /* proteins */
    { "What protein folding predictions still get wrong", "Ivanova, Mbeki", 2023,
      "We measured 212 proteins whose folding had been predicted with high confidence. Cores were "
      "right nearly "
      "always; loops that move when a partner binds were wrong in a third of the cases.",
      "structure biology machine learning" },
    { "Folding on the ribosome: proteins take shape while they are made", "Dubois, Yamamoto", 2018,
      "Single-molecule pulling shows that many proteins begin folding before their chain is "
      "finished. The order of "
      "synthesis keeps them away from traps into which they fall when folded alone.",
      "protein biology" },
    { "Designed enzymes that take plastic apart at room temperature", "Rossi, Chandra, Vogel", 2022,
      "Starting from predicted folds we designed enzymes that split a common plastic at 25 "
      "degrees. The best one "
      "halves a thin film in nine days.",
      "protein design recycling environment" },
    /* climate */
    { "Cooler streets: what trees, paint and shade do in a heat wave", "Nguyen, Alvarez", 2021,
      "Sensors on 60 streets show that mature trees lower the felt temperature by 6 degrees at "
      "noon, light paint "
      "by 2, and shade sails by 4. The effects add up less than expected.",
      "climate change city heat adaptation" },
    { "Methane from small lakes is a larger part of the climate budget", "Johansson, Petrov", 2020,
      "Floating chambers on 120 small lakes released more methane than models assume, most of it "
      "in the two weeks "
      "after the ice breaks.",
      "climate greenhouse gas arctic" },
    { "Reading a thousand years of monsoon from a cave", "Sharma, Bell, Osei", 2019,
      "Layers of a stalagmite record the strength of the monsoon back to the year 1010. The driest "
      "decades line up "
      "with famines in written chronicles.",
      "climate history rain" },
    { "How fast can coral reefs adapt to warmer seas?", "Tamati, Weiss", 2023,
      "Reefs that lived through two heat waves lost fewer corals in the third. The gain is real "
      "but slower than "
      "the ocean is warming.",
      "climate ocean biology" },
    /* batteries, energy */
    { "Solid-state batteries: why the first hundred cycles decide", "Kim, Schneider", 2022,
      "We watched lithium grow through a ceramic layer with X-rays. Cells that survived one "
      "hundred cycles without "
      "a crack usually reached two thousand.",
      "battery energy storage lithium" },
    { "Sodium-ion batteries for the grid: cheap, heavy and good enough", "Oduya, Marchetti", 2023,
      "A year of daily cycling in a village grid cost a third less with sodium-ion than with "
      "lithium batteries, "
      "with 7 percent more loss.",
      "battery energy storage renewable" },
    { "A second life for electric car batteries", "Berg, Nakagawa", 2021,
      "Used car batteries served a bus depot for four years. Sorting them by impedance, which "
      "takes a minute, "
      "predicted most failures.",
      "battery recycling electric vehicle" },
    { "Perovskite solar cells that survive the rain", "Hassan, Lopez", 2024,
      "A sealed perovskite module kept 92 percent of its output after eighteen months on a coastal "
      "roof. Edges, "
      "not surfaces, let the water in.",
      "solar energy photovoltaic renewable" },
    /* language models, agents */
    { "Large language models that say they are not sure", "Park, Eriksen", 2024,
      "Asking a large language model for its confidence is useless unless it is trained for it. "
      "With a small "
      "penalty for wrong certainty, stated and measured confidence agreed within four points.",
      "LLM AI machine learning calibration" },
    { "Human approval in agent loops: where people stop reading", "Abara, Stein", 2025,
      "In a study with 240 people, approval dialogs for tool calls were read carefully for the "
      "first nine requests "
      "and skimmed afterwards. Asking less often, and in plain sentences, caught twice as many bad "
      "calls.",
      "LLM agents AI human in the loop safety tool use" },
    { "Retrieval beats memory: small language models with a good library", "Novak, Diallo", 2023,
      "A language model with three billion parameters and a search tool answered as well as one "
      "with seventy "
      "billion without. The quality of the index mattered more than the size of the model.",
      "LLM AI RAG search" },
    { "Prompt injection through tool results: a field survey", "Quint, Reyes", 2024,
      "We hid instructions in web pages that agents were asked to summarise. Without separation of "
      "data and "
      "instructions, six of ten large language models followed them.",
      "LLM security AI agents" },
    { "Streaming makes waiting shorter: perceived latency of chat systems", "Hoshino, Clarke", 2022,
      "People judged an answer that began after 300 milliseconds and took eight seconds as faster "
      "than one that "
      "appeared whole after five.",
      "LLM chat user interface latency" },
    /* web */
    { "React 19 in practice: actions, forms and fewer effects", "Weber, Santos", 2025,
      "We moved eleven applications to React 19. Its new features, above all actions and the use "
      "hook, removed a "
      "fifth of the state code; most bugs came from effects that had never been correct.",
      "web frontend javascript features" },
    { "Server components measured: what React sends and what it saves", "Achebe, Lund", 2024,
      "Rendering React components on the server cut the script of a shop by 40 percent. Slow "
      "databases became "
      "visible where slow bundles had hidden them.",
      "web frontend javascript performance features" },
    { "Next.js at the edge: a year of latency data", "Tran, Molina", 2024,
      "The same Next.js pages were served from one region and from thirty. Most users gained 80 "
      "milliseconds; "
      "those behind a distant database lost them again.",
      "web frontend javascript performance features latest" },
    { "Server-sent events or WebSockets? Measurements from two million sessions", "Bauer, Ekström",
      2023,
      "For one-way streams, server-sent events reconnected faster and used half the memory. "
      "WebSockets won "
      "wherever the client had much to say.",
      "web streaming protocols HTTP" },
    { "Accessible by default: testing components with people, not checklists", "Mwangi, Peters",
      2021,
      "Automatic checks found a third of the barriers that twelve people with disabilities found "
      "in the same web "
      "pages. We describe a test of one hour that finds most others.",
      "web accessibility usability" },
    /* databases */
    { "Write-ahead logs are all you need: a small survey of databases", "Fischer, Rao", 2020,
      "Nineteen databases were crashed ten thousand times each. The ones that appended to a log, "
      "synced it, and "
      "only then answered lost nothing.",
      "database durability storage transactions" },
    { "SQLite on busy servers: when one writer is enough", "Olsen, Takeda", 2022,
      "With group commit a single SQLite writer stored 100,000 rows per second on a laptop. We "
      "discuss when that "
      "is enough, and when it is not.",
      "database storage performance" },
    { "Exactly once is a promise about names", "Demir, Holt", 2021,
      "Systems that claim exactly-once delivery do at-least-once delivery with names that are "
      "checked. We show "
      "which names survive retries, crashes and people who click twice.",
      "database distributed systems idempotency payments" },
    { "Full-text search in twenty years of databases", "Grant, Morita", 2019,
      "Ranking functions changed little in twenty years; tokenisers changed everything. Results "
      "for Finnish and "
      "Japanese improved most.",
      "database search index" },
    /* sleep, health */
    { "Sleep and memory: an afternoon nap against an evening of study", "Keller, Banda", 2020,
      "Students who slept for forty minutes after learning remembered as much a week later as "
      "those who repeated "
      "the material for an hour.",
      "sleep brain learning health" },
    { "Blue light is not the whole story of bad sleep", "Romero, Sundaram", 2022,
      "Screens delayed sleep by 9 minutes through light and by 31 minutes through what was on "
      "them.",
      "sleep health technology" },
    { "Shift work, sleep debt and the heart", "Andersson, Pham", 2018,
      "Among 4,200 nurses, two free nights in a row brought blood pressure back to normal; single "
      "free nights did "
      "not.",
      "sleep health medicine" },
    { "Walking meetings: small steps, measurable minds", "Costa, Farah", 2021,
      "Teams that walked while they talked produced more ideas, though no better ones. Their "
      "afternoon mood was "
      "higher on all five days.",
      "health work exercise" },
    /* vaccines */
    { "One vaccine for many flu seasons", "Zhou, Albrecht", 2023,
      "A vaccine built from a part of the influenza virus that hardly changes protected ferrets "
      "against strains "
      "eleven years apart.",
      "vaccines virus immunity influenza" },
    { "mRNA vaccines without the freezer", "Eze, Thompson", 2024,
      "A sugar glass kept an mRNA vaccine stable at 37 degrees for two months. Immune responses in "
      "mice were "
      "unchanged.",
      "vaccines mRNA storage global health" },
    { "Why neighbours matter: vaccine decisions in 300 villages", "Kaur, Jensen", 2019,
      "The choice of the three nearest households predicted vaccination better than distance to "
      "the clinic or "
      "schooling.",
      "vaccines society public health" },
    /* space */
    { "Water vapour on a temperate exoplanet, seen twice", "Leclerc, Mishra", 2023,
      "Two telescopes saw the same faint line of water in the light of a small exoplanet. Clouds "
      "hide how much "
      "there is.",
      "exoplanets astronomy planets atmosphere" },
    { "A hundred exoplanets that should not be there", "Vasquez, Blom", 2021,
      "Giant planets close to small stars are hard to form. We list one hundred such exoplanets "
      "and test four ways "
      "they could have come in from outside.",
      "exoplanets astronomy planets formation" },
    { "Listening for moons: timing the transits of exoplanets", "Hale, Okoye", 2024,
      "A moon pulls its planet early or late across the star. Of 62 exoplanets one shows such a "
      "rhythm, three "
      "times weaker than our doubts.",
      "exoplanets astronomy moons" },
    /* and more */
    { "Error correction with forty-eight quantum bits", "Szabo, Ferrer", 2024,
      "Encoding one logical quantum bit into forty-eight physical ones lowered its error rate for "
      "the first time "
      "below that of the best single one.",
      "quantum computing physics" },
    { "Bees count to four, and then guess", "Fontaine, Adu", 2020,
      "Honey bees chose the feeder marked with the right number of dots up to four. Beyond that "
      "they chose the "
      "larger one.",
      "animals behaviour biology" },
    { NULL },
};
